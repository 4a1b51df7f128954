#pragma once

#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/confinement.hpp>
#include <ipybox/kernel/impl/supervisor_launch.hpp>
#include <ipybox/kernel/impl/supervisor_limits.hpp>
#include <ipybox/kernel/runtime_source.hpp>
#include <ipybox/kernel/version_check_source.hpp>
#include <ipybox/os/datagram.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// docs/kernel-protocol.md section 1.
inline constexpr int protocol_version = 1;

inline json described(kernel_walls const& walls, std::vector<system_access> const& allow) {
    auto const texts = [](std::vector<std::filesystem::path> const& paths) {
        json names = json::array();
        for (auto const& path : paths) names.push_back(path.string());
        return names;
    };
    json names = json::array();
    for (auto const access : allow) names.push_back(to_string(access));
    return {{"workspace", walls.workspace.string()},
            {"private", texts(walls.private_directories)},
            {"kept", texts(walls.kept)},
            {"size", walls.private_size},
            {"user", ::geteuid()},
            {"group", ::getegid()},
            {"allow", std::move(names)}};
}

inline std::string greeting(supervisor_options const& options, launch_spec const& launch) {
    json hello = {{"op", "hello"},
                  {"protocol", protocol_version},
                  {"preload", options.duty == supervisor_options::role::forks_kernels},
                  {"level", options.level},
                  {"modules", options.preload},
                  {"limits", limits_in(options.limits, launch)},
                  {"variables", launch.sandbox_variables},
                  {"domain", launch.confinement != nullptr},
                  {"packages", options.package_dir.string()}};
    if (launch.walls) hello["walls"] = described(*launch.walls, launch.allow);
    return json_text(hello);
}

/// The modules one after the other, each behind a line with its name and size. They are not copied: the heap would keep the room for as long as the host runs.
inline result<os::unique_fd> runtime_sources() {
    std::vector<std::string> heads;
    for (auto const& module : runtime_modules)
        heads.push_back(std::string(module.name) + ' ' + std::to_string(module.text.size()) + '\n');
    std::vector<std::string_view> pieces;
    for (std::size_t i = 0; i < heads.size(); ++i) {
        pieces.emplace_back(heads[i]);
        pieces.push_back(runtime_modules[i].text);
    }
    return os::make_memory_file("ipybox_kernel", pieces);
}

inline constexpr char const* system_shell = "/bin/sh";

inline bool can_run(char const* program) { return ::access(program, X_OK) == 0; }

/// Whether a supervisor that is started so gets a keeper. What cannot be run is left to `start_process`, which says why.
inline bool gets_keeper(launch_spec const& spec) {
    return !spec.first_in_namespace && can_run(system_shell) && !spec.argv.empty() &&
           can_run(spec.argv.front().c_str());
}

/// Puts the keeper in front: the sandbox is around the supervisor, and the keeper around both.
inline launch_spec with_keeper(launch_spec spec) {
    std::vector<std::string> argv{system_shell, "-c", std::string(runtime_keeper), "keeper",
                                  std::to_string(spec.control_fd)};
    std::move(spec.argv.begin(), spec.argv.end(), std::back_inserter(argv));
    spec.argv = std::move(argv);
    return spec;
}

inline error no_walls() {
    return error(errc::sandbox_unavailable,
                 "this sandbox does not keep the kernels of a runtime apart, bubblewrap_sandbox does; if they may see "
                 "each other's files and processes, set runtime_options::walls to false");
}

inline result<launched_supervisor> launch(supervisor_options const& options, std::filesystem::path const& private_dir) {
    if (auto usable = check_directories(options); !usable) return failure(usable);
    auto control = os::make_seqpacket_pair();
    if (!control) return failure(control);
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return failure(system_failure("pipe2", errno));
    os::unique_fd standard_error(pipe_ends[0]);
    os::unique_fd const their_standard_error(pipe_ends[1]);

    auto spec = confinement_of(options);
    spec.argv = {options.python.string(), "-E", "-s", "-c", std::string(version_check), std::string(runtime_boot), ""};
    spec.env = options.env;
    if (!private_dir.empty()) {
        spec.writable.push_back(private_dir);
        spec.allow.push_back(system_access::unix_sockets); // a foreign kernel makes them there
    }
    spec.argv.back() = std::to_string(spec.control_fd);
    spec.keeps_kernels_apart = options.walls;
    auto wrapped = options.wrap ? options.wrap(std::move(spec)) : result<launch_spec>(std::move(spec));
    if (!wrapped) return failure(wrapped);
    if (options.walls && !wrapped->walls) return failure(no_walls());

    auto const program = wrapped->argv.empty() ? std::string() : wrapped->argv.front();

    auto sources = runtime_sources();
    if (!sources) return failure(sources);
    // The greeting waits in the socket until the supervisor is there to read it.
    std::vector<os::unique_fd> attached;
    attached.push_back(std::move(*sources));
    bool const kept = gets_keeper(*wrapped);
    os::unique_fd lifeline;
    if (kept) {
        auto pair = os::make_stream_pair(0);
        if (!pair) return failure(pair);
        lifeline = std::move(pair->ours);
        attached.push_back(std::move(pair->theirs));
        wrapped = with_keeper(std::move(*wrapped));
    }
    if (os::send_datagram(control->ours.get(), greeting(options, *wrapped), attached) != os::transfer::done)
        return failure(system_failure("greeting the supervisor", errno));

    auto process =
        os::start_process(*wrapped, {{wrapped->control_fd, control->theirs.get()}, {2, their_standard_error.get()}},
                          kept ? os::orphans::adopted : os::orphans::left);
    if (!process)
        return failure(errc::kernel_start_failed, "the supervisor cannot be started: " + process.error().text());
    return launched_supervisor{
        std::move(*process),       std::move(control->ours),    std::move(standard_error), std::move(lifeline), program,
        std::move(wrapped->keeps), std::move(wrapped->network), wrapped->walls.has_value()};
}

IPYBOX_DECL result<launched_supervisor> launch_supervisor(supervisor_options const& options,
                                                          std::filesystem::path const& private_dir) {
    try {
        return launch(options, private_dir);
    } catch (...) {
        auto const why = error_of(std::current_exception());
        return failure(error(errc::kernel_start_failed, "the supervisor cannot be started: " + why.text())
                           .with_cause(why.cause()));
    }
}

} // namespace ipybox::detail
