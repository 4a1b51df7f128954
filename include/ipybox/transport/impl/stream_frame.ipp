#pragma once

#include <ipybox/jupyter/json_frames.hpp>
#include <ipybox/transport/stream_frame.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

inline tl::unexpected<error> malformed_stream_message() {
    return failure(errc::protocol_error, "a message of the kernel has wrong frame sizes");
}

/// The sizes of a message's frames, from what stands behind its length; none when not all of it was read.
inline result<std::optional<std::vector<std::uint32_t>>> frame_sizes(std::string_view body, std::size_t length) {
    if (length < 2) return malformed_stream_message();
    if (body.size() < 2) return std::nullopt;
    std::size_t const count = static_cast<unsigned char>(body[1]);
    std::size_t const head = 2 + 4 * count;
    if (static_cast<unsigned char>(body[0]) > 3 || count < 4 || length < head) return malformed_stream_message();
    if (body.size() < head) return std::nullopt;
    std::vector<std::uint32_t> sizes(count);
    std::size_t rest = length - head;
    for (std::size_t i = 0; i < count; ++i) {
        sizes[i] = read_u32(body.substr(2 + 4 * i));
        if (sizes[i] > rest) return malformed_stream_message();
        rest -= sizes[i];
    }
    if (rest > 0) return malformed_stream_message();
    return sizes;
}

/// Parses what stands behind the length of a message that was read as a whole.
inline result<jupyter::message> parse_stream_message(std::string_view body) {
    auto const sizes = frame_sizes(body, body.size());
    if (!sizes) return tl::unexpected<error>(sizes.error());
    if (!*sizes) return malformed_stream_message();
    std::vector<std::string_view> frames;
    frames.reserve((*sizes)->size());
    auto rest = body.substr(2 + 4 * (*sizes)->size());
    for (auto const size : **sizes) {
        frames.push_back(rest.substr(0, size));
        rest.remove_prefix(size);
    }
    auto m = jupyter::from_frames(static_cast<jupyter::message::channel>(body[0]), frames[0], frames[1], frames[2],
                                  frames[3]);
    if (!m) return m;
    for (auto const frame : std::span(frames).subspan(4)) m->buffers.emplace_back(frame);
    m->size = body.size();
    return m;
}

/// A frame that is refused for its size is not read first.
inline result<void> json_within_bounds(std::vector<std::uint32_t> const& sizes) {
    jupyter::message_bounds const bounds;
    std::size_t const most[] = {bounds.header.bytes, bounds.header.bytes, bounds.metadata.bytes,
                                std::max(bounds.content.bytes, bounds.displayed.bytes)};
    for (std::size_t i = 0; i < std::size(most); ++i)
        if (sizes[i] > most[i])
            return failure(errc::message_too_large, "a message of the kernel has " + std::to_string(sizes[i]) +
                                                        " bytes of JSON, more than " + std::to_string(most[i] >> 10) +
                                                        " KiB");
    return {};
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
    if (partial_ || begun.size() < 4) return bytes_.prepare();
    return bytes_.prepare(4 + std::min<std::size_t>(detail::read_u32(begun), read_size));
}

IPYBOX_DECL std::size_t unread_message::json_size() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < 4 && i < frames.size(); ++i) bytes += frames[i].size();
    return bytes;
}

IPYBOX_DECL result<jupyter::message> read_message(unread_message whole) {
    auto& frames = whole.frames;
    auto m = jupyter::from_frames(whole.on, frames[0], frames[1], frames[2], frames[3]);
    if (!m) return m;
    m->buffers.assign(std::move_iterator(frames.begin() + 4), std::move_iterator(frames.end()));
    m->size = whole.length;
    m->number = whole.number;
    return m;
}

IPYBOX_DECL result<std::optional<jupyter::message>> stream_frame_reader::next() {
    auto found = next_item();
    if (!found) return failure(found);
    if (!*found) return std::nullopt;
    if (auto* const m = std::get_if<jupyter::message>(&**found)) return std::move(*m);
    auto m = read_message(std::get<unread_message>(std::move(**found)));
    if (!m) return failure(m);
    return std::move(*m);
}

IPYBOX_DECL result<std::optional<stream_frame_reader::item>> stream_frame_reader::next_item() {
    if (partial_) return next_of_partial();
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return std::nullopt;
    std::size_t const length = detail::read_u32(begun);
    if (length > largest_stream_message)
        return failure(errc::message_too_large, "a message of the kernel has " + std::to_string(length) +
                                                    " bytes, more than " +
                                                    std::to_string(largest_stream_message >> 20) + " MiB");
    if (length > read_size) return begin_partial(length);
    if (begun.size() - 4 < length) return std::nullopt;
    auto m = detail::parse_stream_message(begun.substr(4, length));
    bytes_.consume(4 + length);
    if (!m) return failure(m);
    m->number = count_++;
    std::optional<item> next; // with a name: GCC 12 takes the temporary for uninitialised
    next.emplace(std::move(*m));
    return next;
}

IPYBOX_DECL result<std::optional<stream_frame_reader::item>> stream_frame_reader::begin_partial(std::size_t length) {
    auto const body = bytes_.unread().substr(4);
    auto sizes = detail::frame_sizes(body, length);
    if (!sizes) return failure(sizes);
    if (!*sizes) return std::nullopt;
    if (auto within = detail::json_within_bounds(**sizes); !within) return failure(within);
    partial_ = partial{std::move(**sizes), {static_cast<jupyter::message::channel>(body[0]), {}, length, count_++}};
    bytes_.consume(4 + 2 + 4 * partial_->sizes.size());
    return next_of_partial();
}

IPYBOX_DECL result<std::optional<stream_frame_reader::item>> stream_frame_reader::next_of_partial() {
    if (!is_complete()) return std::nullopt;
    std::optional<item> next;
    next.emplace(std::move(partial_->message));
    partial_.reset();
    return next;
}

/// Puts what was read into the frames; whether that was all.
IPYBOX_DECL bool stream_frame_reader::is_complete() {
    auto const& sizes = partial_->sizes;
    auto& frames = partial_->message.frames;
    for (;;) {
        if (frames.empty() || frames.back().size() == sizes[frames.size() - 1]) {
            if (frames.size() == sizes.size()) return true;
            auto const size = sizes[frames.size()];
            frames.emplace_back().reserve(size); // is touched only as it fills
        }
        auto& frame = frames.back();
        auto const piece = bytes_.unread().substr(0, sizes[frames.size() - 1] - frame.size());
        if (piece.empty() && frame.size() < sizes[frames.size() - 1]) return false;
        frame.append(piece);
        bytes_.consume(piece.size());
    }
}

} // namespace ipybox
