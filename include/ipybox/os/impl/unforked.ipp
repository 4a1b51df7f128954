#pragma once

#include <ipybox/os/impl/unforked_descriptors.hpp>
#include <ipybox/os/unforked.hpp>

#include <unistd.h>

#include <mutex>

namespace ipybox::os {

IPYBOX_DECL unforked::unforked(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ < 0) return;
    auto& all = detail::unforked_of_this_process.all;
    std::scoped_lock const lock(all.mutex);
    all.add(descriptor_);
}

IPYBOX_DECL unforked::unforked(int descriptor, held_forks const&) noexcept : descriptor_(descriptor) {
    if (descriptor_ >= 0) detail::unforked_of_this_process.all.add(descriptor_); // there is room
}

IPYBOX_DECL unforked& unforked::operator=(unforked&& other) noexcept {
    unforked const old(std::move(*this));
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
}

IPYBOX_DECL void unforked::close() noexcept {
    auto& all = detail::unforked_of_this_process.all;
    std::scoped_lock const lock(all.mutex);
    (void)::close(descriptor_);
    all.remove(std::exchange(descriptor_, -1));
}

IPYBOX_DECL void unforked::let_go() noexcept {
    auto& all = detail::unforked_of_this_process.all;
    std::scoped_lock const lock(all.mutex);
    all.remove(descriptor_);
}

} // namespace ipybox::os
