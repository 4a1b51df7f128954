#pragma once

#include <ipybox/os/unforked.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace ipybox::os {
namespace detail {

/// The descriptors that no fork keeps. The child's handler makes system calls only.
class unforked_descriptors {
  public:
    static unforked_descriptors& all() {
        static auto* const made = new unforked_descriptors; // forks may come at the very end of the program
        return *made;
    }

    void add(int descriptor) {
        std::scoped_lock const lock(mutex_);
        numbers_.push_back(descriptor);
    }

    void remove(int descriptor) noexcept {
        std::scoped_lock const lock(mutex_);
        auto const found = std::find(numbers_.begin(), numbers_.end(), descriptor);
        if (found != numbers_.end()) numbers_.erase(found);
    }

  private:
    unforked_descriptors() {
        (void)::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); }, [] { all().in_child(); });
    }

    void in_child() noexcept {
        int const null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int const number : numbers_) {
            // Where there is no /dev/null: closed, so that at least the other end sees our parent's end.
            if (null < 0)
                (void)::close(number);
            else
                (void)::dup3(null, number, O_CLOEXEC);
        }
        if (null >= 0) (void)::close(null);
        mutex_.unlock();
    }

    std::mutex mutex_;
    std::vector<int> numbers_;
};

} // namespace detail

IPYBOX_DECL unforked::unforked(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ >= 0) detail::unforked_descriptors::all().add(descriptor_);
}

IPYBOX_DECL unforked& unforked::operator=(unforked&& other) noexcept {
    unforked const old(std::move(*this));
    descriptor_ = std::exchange(other.descriptor_, -1);
    return *this;
}

IPYBOX_DECL unforked::~unforked() {
    if (descriptor_ >= 0) detail::unforked_descriptors::all().remove(descriptor_);
}

} // namespace ipybox::os
