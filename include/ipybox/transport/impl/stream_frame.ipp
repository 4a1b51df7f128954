#pragma once

#include <ipybox/transport/stream_frame.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

inline std::uint32_t read_u32(char const* at) noexcept {
    std::uint32_t value = 0;
    for (int byte = 3; byte >= 0; --byte) value = value << 8 | static_cast<unsigned char>(at[byte]);
    return value;
}

inline void append_u32(std::string& to, std::size_t value) {
    for (int byte = 0; byte < 4; ++byte) to.push_back(static_cast<char>(value >> (8 * byte) & 0xff));
}

/// Parses what stands behind the length of a message.
inline result<jupyter::message> parse_stream_message(std::string_view body) {
    auto const malformed = [] {
        return failure(errc::protocol_error, "a message of the kernel has wrong frame sizes");
    };
    if (body.size() < 2) return malformed();
    auto const channel = static_cast<unsigned char>(body[0]);
    std::size_t const count = static_cast<unsigned char>(body[1]);
    if (channel > 3 || count < 4 || body.size() < 2 + 4 * count) return malformed();

    std::vector<std::string_view> frames;
    frames.reserve(count);
    auto rest = body.substr(2 + 4 * count);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const size = read_u32(body.data() + 2 + 4 * i);
        if (size > rest.size()) return malformed();
        frames.push_back(rest.substr(0, size));
        rest.remove_prefix(size);
    }
    if (!rest.empty()) return malformed();

    auto m = jupyter::from_frames(static_cast<jupyter::channel>(channel), frames[0], frames[1], frames[2], frames[3]);
    if (!m) return m;
    for (std::size_t i = 4; i < count; ++i) m->buffers.emplace_back(frames[i]);
    m->size = body.size();
    return m;
}

} // namespace detail

IPYBOX_DECL std::string to_stream_frame(jupyter::message& m) {
    auto const frames = jupyter::to_frames(m);
    std::vector<std::string_view> parts{frames.header, frames.parent_header, frames.metadata, frames.content};
    parts.insert(parts.end(), m.buffers.begin(), m.buffers.end());

    std::size_t length = 2 + 4 * parts.size();
    for (auto const part : parts) length += part.size();
    std::string bytes;
    bytes.reserve(4 + length);
    detail::append_u32(bytes, length);
    bytes.push_back(static_cast<char>(m.on));
    bytes.push_back(static_cast<char>(parts.size()));
    for (auto const part : parts) detail::append_u32(bytes, part.size());
    for (auto const part : parts) bytes.append(part);
    return bytes;
}

IPYBOX_DECL std::span<char> stream_frame_reader::prepare() {
    // A message that is known to be larger gets its room at once, and no more than that: growing step by step would copy it each time.
    std::size_t rest = 1;
    if (available() >= 4) {
        auto const whole = 4 + std::min<std::size_t>(detail::read_u32(bytes_.get() + begin_), largest_stream_message);
        rest = std::max(whole, available() + 1) - available();
    }
    auto const room = capacity_ - end_;
    bool const cramped = room < read_size / 2 && available() < read_size;
    if (room < rest || cramped) reserve(available() + std::max(rest, read_size));
    return {bytes_.get() + end_, std::min(capacity_ - end_, read_size)};
}

IPYBOX_DECL void stream_frame_reader::reserve(std::size_t capacity) {
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

IPYBOX_DECL result<std::optional<jupyter::message>> stream_frame_reader::next() {
    if (available() < 4) return std::nullopt;
    auto const length = detail::read_u32(bytes_.get() + begin_);
    if (length > largest_stream_message)
        return failure(errc::message_too_large,
                       "a message of the kernel has " + std::to_string(length) + " bytes, more than 256 MiB");
    if (available() - 4 < length) return std::nullopt;
    auto m = detail::parse_stream_message({bytes_.get() + begin_ + 4, length});
    begin_ += 4 + std::size_t(length);
    if (!m) return failure(m);
    if (begin_ == end_) {
        begin_ = end_ = 0;
        // A large message leaves no large buffer behind.
        if (capacity_ > 8 * read_size) {
            bytes_.reset();
            capacity_ = 0;
        }
    }
    return std::optional<jupyter::message>(std::move(*m));
}

} // namespace ipybox
