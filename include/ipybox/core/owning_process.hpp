#pragma once

#include <ipybox/core/config.hpp>

#include <sys/types.h>
#include <unistd.h>

namespace ipybox::detail {

/**
 * \brief The process in which an object was made.
 * \details `fork()` copies objects but not threads, and both processes share sockets and children. A copy must not end
 * what belongs to the original.
 */
class owning_process {
  public:
    [[nodiscard]] bool is_this() const noexcept { return pid_ == ::getpid(); }

  private:
    pid_t pid_ = ::getpid();
};

} // namespace ipybox::detail
