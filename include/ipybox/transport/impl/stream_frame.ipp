#pragma once

#include <ipybox/transport/stream_frame.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

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
        std::size_t const size = read_u32(body.substr(2 + 4 * i));
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
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return bytes_.prepare();
    return bytes_.prepare(4 + std::min<std::size_t>(detail::read_u32(begun), largest_stream_message));
}

IPYBOX_DECL result<std::optional<jupyter::message>> stream_frame_reader::next() {
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return std::nullopt;
    std::size_t const length = detail::read_u32(begun);
    if (length > largest_stream_message)
        return failure(errc::message_too_large,
                       "a message of the kernel has " + std::to_string(length) + " bytes, more than 256 MiB");
    if (begun.size() - 4 < length) return std::nullopt;
    auto m = detail::parse_stream_message(begun.substr(4, length));
    bytes_.consume(4 + length);
    if (!m) return failure(m);
    return std::optional<jupyter::message>(std::move(*m));
}

} // namespace ipybox
