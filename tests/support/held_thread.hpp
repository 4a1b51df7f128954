#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

namespace ipybox::test {

/// The threads of this process, by their ids.
inline std::set<pid_t> threads() {
    std::set<pid_t> all;
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(std::stoi(entry.path().filename().string()));
    return all;
}

/**
 * Holds a thread of the library in the middle of its work, until the object goes. Such threads take no signals but
 * those that instructions cause, so it is held by a SIGTRAP, in the handler of that.
 */
class held_thread {
  public:
    explicit held_thread(pid_t thread) {
        if (::pipe2(held_, O_CLOEXEC) != 0 || ::pipe2(released_, O_CLOEXEC) != 0) std::abort();
        struct sigaction hold{};
        hold.sa_handler = [](int) {
            char byte = 0;
            while (::write(held_[1], &byte, 1) < 0 && errno == EINTR) {}
            while (::read(released_[0], &byte, 1) < 0 && errno == EINTR) {}
        };
        ::sigaction(SIGTRAP, &hold, &before_);
        if (::syscall(SYS_tgkill, ::getpid(), thread, SIGTRAP) != 0) return; // it has ended
        pollfd handler{held_[0], POLLIN, 0};
        while (!holds_ && threads().contains(thread)) holds_ = ::poll(&handler, 1, 10) == 1;
    }
    held_thread(held_thread const&) = delete;
    held_thread& operator=(held_thread const&) = delete;
    ~held_thread() {
        if (holds_) (void)!::write(released_[1], "", 1);
        ::sigaction(SIGTRAP, &before_, nullptr);
        for (int const end : {held_[0], held_[1]}) ::close(end);
        ::close(released_[1]); // the other end is the handler's as long as it reads
    }

    /// False where the thread ended first.
    [[nodiscard]] bool holds() const noexcept { return holds_; }

  private:
    inline static int held_[2];
    inline static int released_[2];
    struct sigaction before_{};
    bool holds_ = false;
};

} // namespace ipybox::test
