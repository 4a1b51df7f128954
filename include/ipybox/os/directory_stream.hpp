#pragma once

#include <ipybox/os/unique_fd.hpp>

#include <dirent.h>

#include <memory>
#include <string_view>
#include <utility>

namespace ipybox::os {

/// The entries of a directory, one after the other, without itself and the one above.
class directory_stream {
  public:
    /// \param directory opened for reading, and just now: reading goes on where its descriptor is
    explicit directory_stream(unique_fd directory) : stream_(directory ? ::fdopendir(directory.get()) : nullptr) {
        if (stream_) (void)directory.release();
    }

    /// False: `errno` says why it cannot be read.
    [[nodiscard]] explicit operator bool() const noexcept { return stream_ != nullptr; }

    [[nodiscard]] int descriptor() const noexcept { return ::dirfd(stream_.get()); }

    /// The next entry, as long as no other is asked for; nullptr at the end, or where `errno` is another one than
    /// before.
    [[nodiscard]] dirent const* next() noexcept {
        while (auto const* entry = ::readdir(stream_.get())) {
            std::string_view const name = static_cast<char const*>(entry->d_name);
            if (name != "." && name != "..") return entry;
        }
        return nullptr;
    }

  private:
    struct close {
        void operator()(DIR* stream) const noexcept { ::closedir(stream); }
    };

    std::unique_ptr<DIR, close> stream_;
};

} // namespace ipybox::os
