#pragma once

#include <ipybox/os/landlock_calls.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/denied_call.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <stdexcept>
#include <thread>

/** \file
 * Systems with an older Landlock, or without it. The test answers the system call that asks for the version
 * (seccomp_unotify(2)); all other calls are the system's.
 */

namespace ipybox::test {

/// A structure of the system, with room for members that newer systems have behind it.
template <class T>
struct with_room {
    T known{};
    std::array<std::byte, 256> further{};
};

/// Sets a filter for the calling thread and for what it starts. The descriptor reports each call that asks for
/// Landlock's version; the call waits.
inline os::unique_fd intercept_landlock_version() {
    constexpr auto flags_of_call = static_cast<unsigned>(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t));
    std::array<sock_filter, 6> rules{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, os::landlock::create_ruleset, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags_of_call),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, os::landlock::ask_for_version, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog const filter{static_cast<unsigned short>(rules.size()), rules.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw std::runtime_error("no_new_privs cannot be set");
    auto const calls = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (calls < 0) throw std::runtime_error("no seccomp filter with a listener can be set");
    return os::unique_fd(static_cast<int>(calls));
}

/// Answers the call that waits. A call whose thread has ended meanwhile needs no answer.
inline void answer_landlock_version(os::unique_fd const& calls, int abi) {
    with_room<seccomp_notif> call;
    if (::ioctl(calls.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
    with_room<seccomp_notif_resp> answer;
    answer.known.id = call.known.id;
    answer.known.val = abi;
    (void)::ioctl(calls.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/// Runs something where the system has this ABI of Landlock: on a thread of its own, as a filter stays, and with all
/// that this thread starts.
template <class Function>
void with_landlock_abi(int abi, Function run) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    os::unique_fd const ended(ends[0]);
    os::unique_fd const running(ends[1]);
    std::promise<os::unique_fd> filter;
    auto filtered = filter.get_future();
    auto outcome = std::async(std::launch::async, [&] {
        try {
            filter.set_value(intercept_landlock_version());
        } catch (...) {
            filter.set_exception(std::current_exception());
            return;
        }
        try {
            run();
        } catch (...) {
            (void)!::write(running.get(), "", 1);
            throw;
        }
        (void)!::write(running.get(), "", 1);
    });
    auto const calls = filtered.get();
    std::array<pollfd, 2> waits{{{calls.get(), POLLIN, 0}, {ended.get(), POLLIN, 0}}};
    while (waits[1].revents == 0 && (::poll(waits.data(), waits.size(), -1) >= 0 || errno == EINTR))
        if ((waits[0].revents & POLLIN) != 0) answer_landlock_version(calls, abi);
    outcome.get();
}

/// Runs something where the system has no Landlock. It says ENOSYS then, or EOPNOTSUPP if Linux was booted without it.
template <class Function>
void without_landlock(int why, Function run) {
    std::async(std::launch::async, [&] {
        deny_calls({static_cast<unsigned>(os::landlock::create_ruleset)}, static_cast<unsigned>(why));
        run();
    }).get();
}

} // namespace ipybox::test
