#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace ipybox::test {

/// One argument of a system call: which, and the value of its lower half.
struct argument {
    unsigned index;
    unsigned value;
};

/// Sets a filter for the calling thread and for what it starts; it stays.
inline void set_filter(std::vector<sock_filter> rules) {
    sock_fprog const filter{static_cast<unsigned short>(rules.size()), rules.data()};
    bool const filtered =
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    if (!filtered) throw std::runtime_error("no seccomp filter can be set");
}

/// Denies a system call where its arguments are these.
inline void deny_call_with(unsigned number, std::initializer_list<argument> arguments, unsigned why) {
    auto left = static_cast<unsigned char>(2 * arguments.size() + 1); // to the end
    std::vector<sock_filter> rules{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, left)};
    for (auto const& each : arguments) {
        auto const at = static_cast<unsigned>(offsetof(seccomp_data, args) + 8 * each.index);
        left = static_cast<unsigned char>(left - 2);
        rules.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
        rules.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, each.value, 0, left));
    }
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | why));
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    set_filter(std::move(rules));
}

/// Denies system calls to the calling thread and to what it starts, as the filter of a container does.
inline void deny_calls(std::initializer_list<unsigned> numbers, unsigned why = EPERM) {
    std::vector<sock_filter> rules{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (auto const number : numbers) {
        rules.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | why));
    }
    rules.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    set_filter(std::move(rules));
}

/// Runs something where system calls are denied: on a thread of its own, as a filter stays.
template <class Function>
void without_calls(std::initializer_list<unsigned> numbers, Function run) {
    std::thread([&] {
        deny_calls(numbers);
        run();
    }).join();
}

} // namespace ipybox::test
