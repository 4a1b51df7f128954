#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/held_forks.hpp>
#include <ipybox/os/unforked.hpp>

#include <unistd.h>

#include <utility>

namespace ipybox::os {

/// Owns a file descriptor and closes it.
class unique_fd {
  public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}

    /// One that was made while forks were held, with room for it: no fork gets it, until it is released or closed.
    unique_fd(int fd, held_forks const& meanwhile) noexcept : fd_(fd), unforked_(fd, meanwhile) {}

    unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), unforked_(std::move(other.unforked_)) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        unique_fd taken(std::move(other));
        std::swap(fd_, taken.fd_);
        std::swap(unforked_, taken.unforked_);
        return *this;
    }
    ~unique_fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept {
        unforked_ = unforked();
        return std::exchange(fd_, -1);
    }

    void reset(int fd = -1) noexcept {
        int const old = std::exchange(fd_, fd);
        if (unforked_)
            unforked_.close();
        else if (old >= 0)
            ::close(old);
    }

  private:
    int fd_ = -1;
    unforked unforked_;
};

/// The descriptor that `make` returns, or none, with its errno. No fork gets it, not even one that comes meanwhile.
template <class Make>
[[nodiscard]] unique_fd make_unforked(Make make) {
    held_forks const meanwhile(1);
    return unique_fd(make(), meanwhile);
}

} // namespace ipybox::os
