#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ipybox {

/// A part of the system that the sandbox and the guard of a kernel close, and that can be left open.
class system_access {
  public:
    /// Sockets of the family AF_UNIX: what the user's services listen on (Docker, D-Bus, tmux), and what managers of
    /// multiprocessing use.
    static system_access const unix_sockets;
    /// New namespaces and mounts: a sandbox inside the sandbox, as browsers and bwrap make it.
    static system_access const user_namespaces;
    /// Looking into other processes of the code itself: debuggers, strace, py-spy.
    static system_access const ptrace;
    /// Asynchronous requests to the system; they open sockets past every filter.
    static system_access const io_uring;
    /// Counters of the processor: perf.
    static system_access const perf_events;

    /// All of them.
    [[nodiscard]] static constexpr std::array<system_access, 5> all() noexcept;

    /// The one of that name.
    [[nodiscard]] static constexpr std::optional<system_access> named(std::string_view name) noexcept;

    /// Its name on command lines and in the kernel protocol, as in "unix-sockets".
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }

    /// Whether they are the same part.
    friend constexpr bool operator==(system_access const&, system_access const&) noexcept = default;

  private:
    explicit constexpr system_access(std::string_view name) noexcept : name_(name) {}

    std::string_view name_;
};

inline constexpr system_access system_access::unix_sockets{"unix-sockets"};
inline constexpr system_access system_access::user_namespaces{"user-namespaces"};
inline constexpr system_access system_access::ptrace{"ptrace"};
inline constexpr system_access system_access::io_uring{"io-uring"};
inline constexpr system_access system_access::perf_events{"perf-events"};

constexpr std::array<system_access, 5> system_access::all() noexcept {
    return {unix_sockets, user_namespaces, ptrace, io_uring, perf_events};
}

constexpr std::optional<system_access> system_access::named(std::string_view name) noexcept {
    for (auto const access : all())
        if (access.name() == name) return access;
    return std::nullopt;
}

} // namespace ipybox
