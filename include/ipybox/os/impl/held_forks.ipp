#pragma once

#include <ipybox/os/held_forks.hpp>
#include <ipybox/os/impl/unforked_descriptors.hpp>

#include <cstddef>
#include <mutex>
#include <utility>

namespace ipybox::os {

IPYBOX_DECL held_forks::held_forks(int descriptors) {
    auto& all = detail::unforked_of_this_process.all;
    std::unique_lock lock(all.mutex);
    all.make_room(static_cast<std::size_t>(descriptors));
    (void)lock.release();
}

IPYBOX_DECL held_forks::~held_forks() { detail::unforked_of_this_process.all.mutex.unlock(); }

} // namespace ipybox::os
