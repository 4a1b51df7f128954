#pragma once

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace ipybox::test {

/// Whether a thread of this process leaves the signals that a process is sent to other threads, and takes those that
/// its own instructions cause.
inline bool takes_own_signals_alone(pid_t thread = ::gettid()) {
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
    std::string word;
    while (status >> word && word != "SigBlk:") {}
    status >> word;
    if (!status) return false;
    auto const blocked = std::stoull(word, nullptr, 16);
    auto const is_blocked = [blocked](int number) { return (blocked >> (number - 1) & 1) != 0; };
    for (int const number : {SIGINT, SIGTERM, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF, SIGPIPE})
        if (!is_blocked(number)) return false;
    for (int const number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        if (is_blocked(number)) return false;
    return true;
}

} // namespace ipybox::test
