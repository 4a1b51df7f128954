#pragma once

#include <ipybox/core/config.hpp>

#include <utility>

namespace ipybox::os {

/**
 * \brief Keeps a descriptor out of forks of this process: in a child of `fork()` the number stands for a socket on
 * which nothing happens.
 * \details The other end of a socket sees the end of this process only where no child holds a copy, and what a child
 * does to a shared socket is done to the parent. An I/O context of the child, which looks at the same numbers, takes
 * the socket for one that is silent (a file of another kind it might not be able to watch). Must be destroyed before
 * the descriptor is closed. Closing on exec is another matter: a child may never exec.
 * \par Thread safety Distinct objects: safe.
 */
class unforked {
  public:
    unforked() noexcept = default;
    explicit unforked(int descriptor);
    unforked(unforked&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    unforked& operator=(unforked&& other) noexcept;
    ~unforked();

  private:
    int descriptor_ = -1;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/unforked.ipp>
#endif
