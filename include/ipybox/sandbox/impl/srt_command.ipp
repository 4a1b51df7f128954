#pragma once

#include <ipybox/sandbox/srt_command.hpp>

#include <iterator>
#include <utility>

namespace ipybox::detail {

/// `sh -c THIS sh DIRECTORY SRT ARG…`
inline constexpr char const* srt_cleaner = R"(dir=$1; shift; "$@"; status=$?; rm -rf -- "$dir"; exit "$status")";

/// `sh -c THIS sh PATH HOME PROGRAM ARG…`
inline std::string srt_receiver(srt_handover const& handover) {
    auto const from = std::to_string(srt_control_fd);
    auto script = "exec " + std::to_string(handover.control_fd) + ">&" + from + ' ' + from + ">/dev/null; ";
    script += handover.path ? "PATH=$1; export PATH; " : "unset PATH; ";
    script += handover.home ? "HOME=$2; export HOME; " : "unset HOME; ";
    return script + R"(shift 2; exec "$@")";
}

IPYBOX_DECL std::vector<std::string> srt_command(srt_handover const& handover, std::vector<std::string> argv) {
    constexpr auto shell = "/bin/sh";
    std::vector<std::string> command{shell, "-c", srt_cleaner, "sh", handover.private_dir.string()};
    command.insert(command.end(),
                   {handover.srt.string(), "--settings", "/dev/fd/" + std::to_string(handover.settings_fd), "--"});
    command.insert(command.end(),
                   {shell, "-c", srt_receiver(handover), "sh", handover.path.value_or(""), handover.home.value_or("")});
    std::move(argv.begin(), argv.end(), std::back_inserter(command));
    return command;
}

} // namespace ipybox::detail
