#pragma once

#include <ipybox/core/config.hpp>

#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <ctime>

namespace ipybox::os {

/**
 * \brief While it lives, a write of this thread beyond the limit for files (RLIMIT_FSIZE) is an error, EFBIG, and
 * nothing else.
 * \details The system sends SIGXFSZ as well, which would end the application.
 */
class no_file_size_signal {
  public:
    no_file_size_signal() noexcept {
        rlimit limit{};
        if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
        ::sigemptyset(&signal_);
        ::sigaddset(&signal_, SIGXFSZ);
        sigset_t pending;
        ::sigpending(&pending);
        // One that was pending before is the application's.
        if (::sigismember(&pending, SIGXFSZ) == 1) return;
        blocks_ = ::pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
    }
    no_file_size_signal(no_file_size_signal const&) = delete;
    no_file_size_signal& operator=(no_file_size_signal const&) = delete;
    ~no_file_size_signal() {
        if (!blocks_) return;
        timespec const at_once{};
        (void)::sigtimedwait(&signal_, nullptr, &at_once);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t signal_{};
    sigset_t before_{};
    bool blocks_ = false;
};

} // namespace ipybox::os
