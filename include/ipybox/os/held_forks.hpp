#pragma once

#include <ipybox/core/config.hpp>

namespace ipybox::os {

/**
 * \brief Forks of this process wait while one lives, and so do other threads that make one: a mutex that is free in
 * every child of `fork()`.
 * \details For moments: descriptors are made that no fork may have (`make_unforked`), or data of the whole process are
 * looked at. A child of a fork that came in between would find another mutex locked for ever. Not recursive.
 */
class held_forks {
  public:
    /// With room for `descriptors` that become unforked meanwhile.
    explicit held_forks(int descriptors = 0);
    held_forks(held_forks const&) = delete;
    held_forks& operator=(held_forks const&) = delete;
    ~held_forks();
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/held_forks.ipp>
#endif
