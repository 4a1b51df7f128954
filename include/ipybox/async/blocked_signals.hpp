#pragma once

#include <ipybox/core/config.hpp>

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace ipybox::detail {

/**
 * \brief While it lives, its thread takes no signals but those that its own instructions cause; threads that it starts
 * inherit that.
 * \details Signals of the application are for the application's threads: its handlers must not run on threads of the
 * library.
 */
class blocked_signals {
  public:
    blocked_signals() noexcept {
        sigset_t most;
        ::sigfillset(&most);
        for (int const number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) ::sigdelset(&most, number);
        ::pthread_sigmask(SIG_BLOCK, &most, &before_);
    }
    blocked_signals(blocked_signals const&) = delete;
    blocked_signals& operator=(blocked_signals const&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

} // namespace ipybox::detail
