#pragma once

#include <ipybox/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ipybox::detail {

/// How many files one execution may still write, and how many bytes of them.
class file_budget {
  public:
    file_budget(std::size_t files, std::uint64_t bytes) : files_(files), bytes_(bytes) {}

    /// Takes one file of so many bytes; false, and takes nothing, where there is no room for all of it.
    [[nodiscard]] bool take_file(std::uint64_t bytes) noexcept {
        if (files_ == 0 || bytes > bytes_) return false;
        --files_;
        bytes_ -= bytes;
        return true;
    }

    void give_back_file(std::uint64_t bytes) noexcept {
        ++files_;
        bytes_ += bytes;
    }

    /// Takes as many of these bytes as there is room for, for a file that was taken already.
    [[nodiscard]] std::size_t take_bytes(std::size_t wanted) noexcept {
        auto const taken = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, bytes_));
        bytes_ -= taken;
        return taken;
    }

  private:
    std::size_t files_;
    std::uint64_t bytes_;
};

} // namespace ipybox::detail
