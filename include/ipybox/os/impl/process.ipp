#pragma once

#include <ipybox/core/time_budget.hpp>
#include <ipybox/os/confinement.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/impl/child_steps.hpp>
#include <ipybox/os/landlock_calls.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/read_file.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

namespace ipybox::os {
namespace detail {

/// Data of the child while it runs in this process' memory: prepared before, system calls only afterwards.
struct child_plan {
    char const* program;
    char* const* argv;
    char* const* env;
    char const* working_dir;
    handed_descriptor* descriptors;
    std::size_t count;
    int highest; ///< the first number that no handed descriptor uses
    bool adopts_orphans;
    int entrance; ///< the descriptor by which the child enters a control group; -1: it stays in that of this process
    int domain;   ///< number in the child of the domain's descriptor; -1: it is not confined
    sock_fprog filter;                    ///< of a child that is confined
    char const* const* read_only_devices; ///< to the null pointer behind the last one
    std::byte* stack;                     ///< the end of the stack of the process that becomes the program
    char const* failed_step = nullptr;
    int failure = 0;
    pid_t pid = -1; ///< of the process that becomes the program
    int pidfd = -1;
};

/// Puts this process under the plan's confinement. Returns the step that failed; none: it is confined.
IPYBOX_UNSANITIZED inline char const* confine(child_plan const& plan) {
    if (!drop_capabilities()) return "dropping capabilities";
    if (::syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "giving up new privileges";
    if (::syscall(landlock::restrict_self, plan.domain, 0) != 0) return "entering a domain of Landlock";
    (void)::syscall(SYS_close, plan.domain);
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &plan.filter) != 0) return "filtering system calls";
    return nullptr;
}

/// Ends the process. A sanitizer would take `_exit` for the end of the application, whose memory it has.
[[noreturn]] IPYBOX_UNSANITIZED inline void leave(int code) {
    for (;;) (void)::syscall(SYS_exit_group, code);
}

/// Remembers the step that failed, and ends the process.
[[noreturn]] IPYBOX_UNSANITIZED inline void end_at(child_plan& plan, char const* step) {
    plan.failed_step = step;
    plan.failure = errno;
    leave(127);
}

/// Becomes the program.
IPYBOX_UNSANITIZED inline int run_child(void* argument) {
    auto& plan = *static_cast<child_plan*>(argument);
    auto const give_up = [&plan](char const* step) IPYBOX_UNSANITIZED { end_at(plan, step); };
    // Before it takes anything of the machine. "0" is the process that writes.
    if (plan.entrance >= 0 && ::syscall(SYS_write, plan.entrance, "0", 1) != 1) give_up("entering its control group");
    if (::setpgid(0, 0) < 0) give_up("setpgid");
    if (plan.adopts_orphans && ::syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) give_up("prctl");
    // Ignored signals would stay ignored through exec, and handlers are not ours to run. A signal that waits here was
    // for the application's whole group, as Ctrl-C is: what it means for this process is the application's decision. To
    // ignore it takes it away.
    struct sigaction standard{};
    for (int number = 1; number < NSIG; ++number) {
        standard.sa_handler = SIG_IGN;
        (void)::sigaction(number, &standard, nullptr);
        standard.sa_handler = SIG_DFL;
        (void)::sigaction(number, &standard, nullptr);
    }
    if (::chdir(plan.working_dir) != 0) give_up("chdir");

    // First out of the way of all target numbers, then to their places.
    for (std::size_t i = 0; i < plan.count; ++i) {
        int const moved = ::fcntl(plan.descriptors[i].source, F_DUPFD_CLOEXEC, plan.highest);
        if (moved < 0) give_up("dup");
        plan.descriptors[i].source = moved;
    }
    if (!protect_devices(plan.read_only_devices)) give_up("protecting devices");
    // Not close-on-exec: where the application has closed 0 or 1, this is it.
    int const null = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR));
    if (null < 0) give_up("open /dev/null");
    for (int number = 0; number < 2; ++number)
        if (null != number && ::syscall(SYS_dup3, null, number, 0) < 0) give_up("dup");
    for (std::size_t i = 0; i < plan.count; ++i)
        if (::syscall(SYS_dup3, plan.descriptors[i].source, plan.descriptors[i].number, 0) < 0) give_up("dup");
    for (int number = 3; number < plan.highest; ++number) {
        auto const kept = [number](handed_descriptor const& d) { return d.number == number; };
        if (!std::any_of(plan.descriptors, plan.descriptors + plan.count, kept)) (void)::syscall(SYS_close, number);
    }
    // The application's files must not be open in a sandbox.
    if (!close_from(plan.highest)) give_up("closing the application's descriptors needs close_range(2) or /proc");

    sigset_t none;
    ::sigemptyset(&none);
    (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (plan.domain >= 0)
        if (char const* const step = confine(plan)) give_up(step);
    ::execve(plan.program, plan.argv, plan.env);
    give_up("execve");
    return 127;
}

// ThreadSanitizer takes clone() for a fork, after which it allows no new threads; it does not know the other name.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define IPYBOX_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define IPYBOX_THREAD_SANITIZER
#endif
#ifdef IPYBOX_THREAD_SANITIZER
extern "C" int __clone(int (*)(void*), void*, int, void*, ...); // NOLINT(bugprone-reserved-identifier)
inline constexpr auto clone_without_fork = &__clone;
#else
inline constexpr auto clone_without_fork = &::clone;
#endif

/// Begins a session, starts the process that becomes the program in it, and ends. The program does not lead its
/// session: the first terminal that the leader of a session opens becomes its controlling one, which sends it SIGHUP
/// when it is closed (credentials(7), setsid(2)).
IPYBOX_UNSANITIZED inline int run_session(void* argument) {
    auto& plan = *static_cast<child_plan*>(argument);
    if (::setsid() < 0) end_at(plan, "setsid");
    // A child of our parent, whose descriptors it gets: this process shares them, and adds the pidfd to them.
    plan.pid = clone_without_fork(run_child, plan.stack, CLONE_PARENT | CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                                  &plan, &plan.pidfd);
    if (plan.pid < 0) end_at(plan, "clone");
    leave(0);
}

#undef IPYBOX_UNSANITIZED

/// Reaps the process that began the session. It has ended, or is about to.
inline void reap(pid_t pid) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {}
}

inline std::vector<char*> pointers(std::vector<std::string> const& strings) {
    std::vector<char*> list;
    list.reserve(strings.size() + 1);
    for (auto const& s : strings) list.push_back(const_cast<char*>(s.c_str()));
    list.push_back(nullptr);
    return list;
}

inline sock_fprog filter_program(std::string const& instructions) {
    sock_fprog program{};
    program.len = static_cast<unsigned short>(instructions.size() / sizeof(sock_filter));
    program.filter = const_cast<sock_filter*>(reinterpret_cast<sock_filter const*>(instructions.data()));
    return program;
}

inline std::vector<pid_t> children_of(pid_t pid) {
    std::vector<pid_t> children;
    std::error_code gone;
    // Each thread has children of its own.
    std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", gone);
    for (; !gone && threads != std::filesystem::directory_iterator(); threads.increment(gone)) {
        auto const file = threads->path() / "children";
        std::istringstream list(read_file(file, file.string(), no_limit).value_or(""));
        for (pid_t child = 0; list >> child;) children.push_back(child);
    }
    return children;
}

/// Kills what is below a process. That one is stopped first: it may start children anew as they die.
inline void kill_below(pid_t pid) {
    (void)::kill(pid, SIGSTOP);
    for (pid_t const child : children_of(pid)) {
        kill_below(child);
        (void)::kill(child, SIGKILL);
    }
}

/// The number of the process that a pidfd refers to, -1 once it is reaped (proc_pid_fdinfo(5)), 0 if it is unknown.
inline pid_t number_behind(int pidfd) noexcept {
    std::array<char, 64> path{};
    (void)std::snprintf(path.data(), path.size(), "/proc/self/fdinfo/%d", pidfd);
    unique_fd const file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> text{};
    auto const count = file ? ::read(file.get(), text.data(), text.size() - 1) : -1;
    char const* const found = count > 0 ? std::strstr(text.data(), "\nPid:") : nullptr;
    return found ? static_cast<pid_t>(std::strtol(found + 5, nullptr, 10)) : 0;
}

inline constexpr unsigned to_group = 4; ///< PIDFD_SIGNAL_PROCESS_GROUP

/// Ends a process of which nothing but the pidfd is known. Returns when it does not run in our memory any more.
inline void end_behind(int pidfd) {
    (void)::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, to_group); // with what it has started
    if (::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0) != 0 && errno != ESRCH)
        if (pid_t const number = number_behind(pidfd); number > 0) (void)::kill(number, SIGKILL);
    siginfo_t ignored{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &ignored, WEXITED) != 0 && errno == EINTR) {}
}

} // namespace detail

IPYBOX_DECL process::process(process&& other) noexcept
    : owner_(other.owner_), pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)),
      status_(std::exchange(other.status_, {})) {}

IPYBOX_DECL process& process::operator=(process&& other) noexcept {
    process old(std::move(*this));
    owner_ = other.owner_;
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    status_ = std::exchange(other.status_, {});
    return *this;
}

IPYBOX_DECL process::~process() {
    if (!pidfd_ || status_ || !owner_.is_this()) return;
    kill_tree();
    // SIGKILL cannot be refused; a process stuck in the kernel is left to init rather than waited for.
    (void)wait(std::chrono::seconds(1));
}

IPYBOX_DECL std::optional<exit_status> process::wait(std::chrono::milliseconds bound, int or_readable) noexcept {
    if (status_ || !pidfd_) return status_;
    auto const deadline = std::chrono::steady_clock::now() + clamped(bound);
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd watched[] = {{pidfd_.get(), POLLIN, 0}, {or_readable, POLLIN, 0}};
        int const ready = ::poll(watched, 2, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0 && left.count() > INT_MAX) continue;
        if (ready <= 0 || watched[0].revents == 0) return std::nullopt;
        break;
    }
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0) {
        status_.emplace(); // other code reaped it: ended, but how is unknown
        return status_;
    }
    exit_status status;
    (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
    status_ = status;
    return status_;
}

IPYBOX_DECL void process::signal(int number) const noexcept {
    if (!is_unreaped()) return;
    // glibc 2.36 declares pidfd_send_signal without C linkage.
    if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0 || errno == ESRCH) return;
    (void)::kill(pid_, number); // the call is denied, and the number is still this process'
}

IPYBOX_DECL void process::signal_group(int number) const noexcept {
    if (!pidfd_ || !owner_.is_this()) return;
    // Linux 6.9 signals the group that the process led, whatever has become of its number.
    if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, detail::to_group) == 0 || errno == ESRCH)
        return;
    if (is_unreaped() || left_its_number()) (void)::kill(-pid_, number);
}

/// Until it is reaped, the number cannot be another's. The application may have reaped it, or had the system do so.
IPYBOX_DECL bool process::is_unreaped() const noexcept {
    siginfo_t ignored{};
    return pidfd_ && !status_ && owner_.is_this() &&
           ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Whether another reaped it, and its number is not a process' again: that stays taken while its group has members.
IPYBOX_DECL bool process::left_its_number() const noexcept {
    if (!pidfd_ || status_) return false;
    if (::kill(pid_, 0) != 0 && errno == ESRCH) return true;
    return detail::number_behind(pidfd_.get()) == pid_; // it has ended, and the system is about to take it away
}

IPYBOX_DECL void process::kill_tree() const noexcept {
    if (!is_unreaped()) return;
    detail::kill_below(pid_);
    signal_group(SIGKILL); // what has lost its parent below: the child of a bwrap that was killed as it began, say
    signal(SIGKILL);
}

IPYBOX_DECL result<process> start_process(launch_spec const& spec, std::vector<handed_descriptor> descriptors,
                                          orphans below, int entrance) {
    if (spec.argv.empty()) return failure(errc::invalid_argument, "a launch specification has no program");
    std::vector<unique_fd> inputs;
    for (auto const& [number, bytes] : spec.inputs) {
        auto file = make_memory_file("ipybox-input", bytes);
        if (!file) return failure(file);
        descriptors.push_back({number, file->get()});
        inputs.push_back(std::move(*file));
    }
    auto const free_number = [&descriptors] {
        int number = 3;
        for (auto const& d : descriptors) number = std::max(number, d.number + 1);
        return number;
    };
    int const domain = spec.confinement ? free_number() : -1;
    if (domain >= 0) descriptors.push_back({domain, spec.confinement->domain.get()});
    std::vector<std::string> variables;
    for (auto const& [name, value] : spec.env) variables.push_back(std::string(name).append("=").append(value));
    auto const argv = detail::pointers(spec.argv);
    auto const devices = detail::pointers(spec.read_only_devices);
    auto const env = detail::pointers(variables);
    auto const working_dir = spec.working_dir.string();

    detail::child_plan plan{};
    plan.program = spec.argv.front().c_str();
    plan.argv = argv.data();
    plan.env = env.data();
    plan.working_dir = working_dir.c_str();
    plan.descriptors = descriptors.data();
    plan.count = descriptors.size();
    plan.highest = free_number();
    plan.adopts_orphans = below == orphans::adopted;
    plan.entrance = entrance;
    plan.read_only_devices = devices.data();
    plan.domain = domain;
    if (domain >= 0) plan.filter = detail::filter_program(spec.confinement->filter);

    static constexpr std::size_t stack_size = 64 * 1024;
    auto const stacks = std::make_unique<std::byte[]>(2 * stack_size);
    plan.stack = stacks.get() + stack_size;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    // No handler of ours may run in the child while it shares our memory.
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t const leader = detail::clone_without_fork(detail::run_session, stacks.get() + 2 * stack_size,
                                                    CLONE_FILES | CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
    int const clone_error = errno;
    if (leader > 0) detail::reap(leader);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (leader < 0) return failure(ipybox::detail::system_failure("clone", clone_error));

    unique_fd pidfd(plan.pidfd);
    if (plan.failed_step == nullptr && plan.pid <= 0) { // the leader did not live to say the number
        if (pidfd) detail::end_behind(pidfd.get());
        return failure(errc::io_error, "starting " + spec.argv.front() + ": it was killed while it began");
    }
    process child(plan.pid, std::move(pidfd));
    if (plan.failed_step == nullptr) return child;
    (void)child.wait(std::chrono::seconds(1));
    auto const step = std::string_view(plan.failed_step);
    auto what = "starting " + spec.argv.front();
    if (step == "chdir")
        what = "changing to the directory " + working_dir;
    else if (step != "execve")
        what.append(" (").append(step).append(")");
    return failure(ipybox::detail::system_failure(what, plan.failure));
}

IPYBOX_DECL bool has_ended(int pidfd) noexcept {
    pollfd watched{pidfd, POLLIN, 0};
    return ::poll(&watched, 1, 0) > 0;
}

IPYBOX_DECL bool is_runnable(std::filesystem::path const& file) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

} // namespace ipybox::os
