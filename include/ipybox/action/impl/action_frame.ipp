#pragma once

#include <ipybox/action/action_frame.hpp>

#include <algorithm>

namespace ipybox::detail {

IPYBOX_DECL std::string bytes_before_body(action_frame const& frame) {
    std::string bytes;
    bytes.reserve(8 + frame.head.size());
    append_u32(bytes, 4 + frame.head.size() + frame.body.size());
    append_u32(bytes, frame.head.size());
    return bytes.append(frame.head);
}

IPYBOX_DECL std::span<char> action_frame_reader::prepare() {
    auto const begun = bytes_.unread();
    if (partial_ || begun.size() < 4) return bytes_.prepare();
    return bytes_.prepare(4 + std::min<std::size_t>(read_u32(begun), read_buffer::read_size));
}

IPYBOX_DECL result<std::optional<action_frame>> action_frame_reader::next() {
    if (partial_) return next_of_partial();
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return std::nullopt;
    std::size_t const length = read_u32(begun);
    if (length > largest_action_request)
        return failure(errc::message_too_large,
                       "an action of the kernel has " + std::to_string(length) + " bytes, more than 65 MiB");
    auto const content = begun.substr(4, length);
    if (length > read_buffer::read_size) {
        if (content.size() < 4) return std::nullopt;
        begin_partial(length);
        return next_of_partial();
    }
    if (content.size() < length) return std::nullopt;
    action_frame frame;
    if (std::size_t const head = length < 4 ? length : read_u32(content); head + 4 <= length) {
        frame.head = content.substr(4, head);
        frame.body = content.substr(4 + head);
    }
    bytes_.consume(4 + length);
    return std::optional<action_frame>(std::move(frame));
}

/// One whose head would be longer than the frame is all body.
IPYBOX_DECL void action_frame_reader::begin_partial(std::size_t length) {
    std::size_t const rest = length - 4;
    std::size_t const said = read_u32(bytes_.unread().substr(4));
    auto const head = said > rest ? 0 : said;
    bytes_.consume(8);
    partial_ = partial{action_frame(), head, rest - head};
}

IPYBOX_DECL std::optional<action_frame> action_frame_reader::next_of_partial() {
    auto& [frame, head, body] = *partial_;
    fill(frame.head, head);
    if (frame.head.size() == head) fill(frame.body, body);
    if (frame.head.size() < head || frame.body.size() < body) return std::nullopt;
    auto whole = std::move(frame);
    partial_.reset();
    return whole;
}

/// Moves what was read into a part of the frame, up to its size.
IPYBOX_DECL void action_frame_reader::fill(std::string& part, std::size_t size) {
    part.reserve(size); // it is touched only as it fills
    auto const piece = bytes_.unread().substr(0, size - part.size());
    part.append(piece);
    bytes_.consume(piece.size());
}

} // namespace ipybox::detail
