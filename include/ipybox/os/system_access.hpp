#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace ipybox {

/// A part of the system that the sandbox and the guard of a kernel close, and that can be left open.
enum class system_access {
    /// Sockets of the family AF_UNIX: what the user's services listen on (Docker, D-Bus, tmux), and what managers of
    /// multiprocessing use.
    unix_sockets,
    user_namespaces, ///< new namespaces and mounts: a sandbox inside the sandbox, as browsers and bwrap make it
    ptrace,          ///< looking into other processes of the code itself: debuggers, strace, py-spy
    io_uring,        ///< asynchronous requests to the system; they open sockets past every filter
    perf_events,     ///< counters of the processor: perf
};

namespace detail {

inline constexpr std::array<std::pair<system_access, std::string_view>, 5> system_access_names{{
    {system_access::unix_sockets, "unix-sockets"},
    {system_access::user_namespaces, "user-namespaces"},
    {system_access::ptrace, "ptrace"},
    {system_access::io_uring, "io-uring"},
    {system_access::perf_events, "perf-events"},
}};

} // namespace detail

/// Its name on command lines and in the kernel protocol, as in "unix-sockets".
[[nodiscard]] constexpr std::string_view to_string(system_access access) noexcept {
    for (auto const& [value, name] : detail::system_access_names)
        if (value == access) return name;
    return {};
}

/// The one of that name.
[[nodiscard]] constexpr std::optional<system_access> system_access_of(std::string_view name) noexcept {
    for (auto const& [value, its_name] : detail::system_access_names)
        if (its_name == name) return value;
    return std::nullopt;
}

} // namespace ipybox
