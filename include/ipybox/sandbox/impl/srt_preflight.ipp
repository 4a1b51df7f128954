#pragma once

#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/os/held_forks.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/srt_preflight.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

namespace ipybox::detail {

using srt_version = std::array<int, 3>;

/// The version whose settings, descriptors and signals were looked at.
inline constexpr srt_version oldest_srt{0, 0, 83};
inline constexpr std::string_view srt_installation = "npm install -g @anthropic-ai/sandbox-runtime@0.0.83";

/// "0.0.83", and what may follow.
inline std::optional<srt_version> srt_version_of(std::string_view text) {
    srt_version version{};
    for (std::size_t i = 0; i < version.size(); ++i) {
        if (i > 0 && !text.starts_with('.')) return std::nullopt;
        if (i > 0) text.remove_prefix(1);
        auto const [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), version.at(i));
        if (wrong != std::errc()) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return version;
}

IPYBOX_DECL std::vector<srt_need> srt_needs(srt_system system) {
    if (system == srt_system::on_macos) return {{"node", "node"}}; // the sandbox is the system's own
    return {{"node", "nodejs"}, {"bwrap", "bubblewrap"}, {"rg", "ripgrep"}, {"socat", "socat"}, {"bash", "bash"}};
}

IPYBOX_DECL result<std::filesystem::path> find_srt(std::filesystem::path const& wanted) {
    if (!wanted.empty() && !wanted.is_absolute())
        return failure(errc::invalid_argument, "the srt program " + wanted.string() + " is not an absolute path");
    auto found = os::find_program(wanted.empty() ? "srt" : wanted.string());
    if (!found.empty()) return found;
    if (!wanted.empty())
        return failure(
            sandbox_unavailable("the srt program " + wanted.string() + " is not there or cannot be executed"));
    return failure(sandbox_unavailable("sandbox-runtime is not installed: there is no srt on PATH. Install it: " +
                                       std::string(srt_installation)));
}

IPYBOX_DECL result<void> check_srt_version(std::string_view said) {
    auto const line = said.substr(0, said.find('\n'));
    auto const version = srt_version_of(line);
    if (!version)
        return failure(sandbox_unavailable("srt --version said \"" + std::string(line) +
                                           "\" and no version; srt needs Node.js 22.12 or newer, and is installed by " +
                                           std::string(srt_installation)));
    if (*version < oldest_srt)
        return failure(sandbox_unavailable("srt " + std::string(line) +
                                           " is too old; install 0.0.83 or newer: " + std::string(srt_installation)));
    return {};
}

IPYBOX_DECL result<void> check_srt_needs(srt_system system, std::string_view search_path) {
    std::string programs;
    std::string packages;
    for (auto const& need : srt_needs(system)) {
        if (!os::find_program(std::string(need.program), search_path).empty()) continue;
        programs.append(programs.empty() ? "" : ", ").append(need.program);
        packages.append(" ").append(need.package);
    }
    if (programs.empty()) return {};
    auto const installer = system == srt_system::on_macos ? "brew install" : "apt-get install";
    return failure(sandbox_unavailable("srt needs programs that are not on PATH: " + programs +
                                       ". Install them: " + installer + packages));
}

/// The options with which srt starts bubblewrap, and a system may not permit.
inline result<void> try_bubblewrap_of_srt(std::filesystem::path const& bwrap, std::string const& search_path,
                                          std::chrono::milliseconds bound) {
    auto const program = bwrap.empty() ? os::find_program("bwrap", search_path) : bwrap;
    auto const filter = system_call_filter({});
    if (!filter) return failure(filter.error());
    auto const usable = bubblewrap_preflight(program,
                                             {"--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL",
                                              "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"},
                                             *filter, bound);
    if (!usable) return failure(usable.error());
    return {};
}

inline result<void> try_srt(std::filesystem::path const& srt, std::filesystem::path const& bwrap,
                            std::string const& search_path, std::chrono::milliseconds bound) {
    if (auto complete = check_srt_needs(srt_system::on_linux, search_path); !complete) return complete;
    auto const said = os::program_output({{srt.string(), "--version"}, {{"PATH", search_path}}, "/"}, bound);
    if (!said && is_shortage(said.error().cause())) return failure(said.error());
    if (!said) return failure(sandbox_unavailable("srt does not work here: " + said.error().text()));
    if (auto known = check_srt_version(*said); !known) return known;
    return try_bubblewrap_of_srt(bwrap, search_path, bound);
}

IPYBOX_DECL result<void> srt_preflight(std::filesystem::path const& srt, std::filesystem::path const& bwrap,
                                       std::string const& search_path, std::chrono::milliseconds bound) {
    using checked = std::tuple<std::filesystem::path, std::filesystem::path, std::string>;
    static auto& remembered = never_destroyed<std::set<checked>>();
    std::tuple const key(srt, bwrap, search_path);
    {
        os::held_forks const lock;
        if (remembered.contains(key)) return {};
    }
    auto works = try_srt(srt, bwrap, search_path, bound);
    if (!works) return works;
    os::held_forks const lock;
    remembered.insert(key);
    return works;
}

} // namespace ipybox::detail
