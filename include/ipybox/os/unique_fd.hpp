#pragma once

#include <ipybox/core/config.hpp>

#include <unistd.h>

#include <utility>

namespace ipybox::os {

/// Owns a file descriptor and closes it.
class unique_fd {
  public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    void reset(int fd = -1) noexcept {
        if (int const old = std::exchange(fd_, fd); old >= 0) ::close(old);
    }

  private:
    int fd_ = -1;
};

} // namespace ipybox::os
