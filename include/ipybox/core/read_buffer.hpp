#pragma once

#include <ipybox/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// Four bytes, the lowest first; there are at least so many.
[[nodiscard]] inline std::uint32_t read_u32(std::string_view bytes) noexcept {
    std::uint32_t value = 0;
    for (std::size_t byte = 4; byte-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[byte]);
    return value;
}

inline void append_u32(std::string& to, std::size_t value) {
    for (int byte = 0; byte < 4; ++byte) to.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
}

/**
 * \brief Bytes that were read and not yet used, for those who cut a stream into frames.
 * \details Read into `prepare()`, tell `commit()` how much came, look at `unread()` and `consume()` what was used.
 * Memory is bounded by one frame and one read.
 */
class read_buffer {
  public:
    static constexpr std::size_t read_size = 256 * 1024;

    /// The place to read to: up to `read_size` bytes, never none. `whole` is the size of the frame that has begun, as
    /// far as it is known: it gets its room at once, and no more than that, because growing step by step would copy it
    /// each time.
    [[nodiscard]] std::span<char> prepare(std::size_t whole = 0) {
        auto const rest = std::max(whole, available() + 1) - available();
        auto const room = capacity_ - end_;
        bool const cramped = room < read_size / 2 && available() < read_size;
        if (room < rest || cramped) reserve(available() + std::max(rest, read_size));
        return {bytes_.get() + end_, std::min(capacity_ - end_, read_size)};
    }

    /// So many bytes were read.
    void commit(std::size_t count) noexcept { end_ += count; }

    [[nodiscard]] std::string_view unread() const noexcept { return {bytes_.get() + begin_, available()}; }

    /// So many bytes were used.
    void consume(std::size_t count) noexcept {
        begin_ += count;
        if (begin_ != end_) return;
        begin_ = end_ = 0;
        // A large frame leaves no large buffer behind.
        if (capacity_ > 8 * read_size) {
            bytes_.reset();
            capacity_ = 0;
        }
    }

  private:
    [[nodiscard]] std::size_t available() const noexcept { return end_ - begin_; }

    void reserve(std::size_t capacity) {
        if (capacity > capacity_) {
            std::unique_ptr<char[]> larger(new char[capacity]); // not value-initialised: it is read into
            if (available() > 0) std::memcpy(larger.get(), bytes_.get() + begin_, available());
            bytes_ = std::move(larger);
            capacity_ = capacity;
        } else {
            std::memmove(bytes_.get(), bytes_.get() + begin_, available());
        }
        end_ = available();
        begin_ = 0;
    }

    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace ipybox::detail
