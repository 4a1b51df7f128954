#pragma once

#include <ipybox/core/config.hpp>

#include <utility>

namespace ipybox::os {

class held_forks;

/**
 * \brief Keeps a descriptor out of forks of this process: in a child of `fork()` the number stands for a socket on
 * which nothing happens.
 * \details The other end of a socket or a pipe sees the end of this process only where no child holds a copy, a lock on
 * a file lasts as long as one does, and what a child does to a shared socket is done to the parent. An I/O context of
 * the child, which looks at the same numbers, takes the socket for one that is silent (a file of another kind it might
 * not be able to watch). Must be destroyed before the descriptor is closed. Closing on exec is another matter: a child
 * may never exec.
 * \par Thread safety Distinct objects: safe.
 */
class unforked {
  public:
    unforked() noexcept = default;
    explicit unforked(int descriptor);

    /// One that was made while forks were held, with room for it: no fork has a copy.
    unforked(int descriptor, held_forks const& meanwhile) noexcept;

    unforked(unforked&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    unforked& operator=(unforked&& other) noexcept;
    ~unforked() {
        if (descriptor_ >= 0) let_go();
    }

    /// Whether there is a descriptor.
    [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }

    /// Closes the descriptor, which no fork can get in between.
    void close() noexcept;

  private:
    void let_go() noexcept;

    int descriptor_ = -1;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/unforked.ipp>
#endif
