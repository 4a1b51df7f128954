#pragma once

#include <ipybox/action/action_frame.hpp>

#include <algorithm>

namespace ipybox::detail {

IPYBOX_DECL std::string to_bytes(action_frame const& frame) {
    std::string bytes;
    bytes.reserve(8 + frame.head.size() + frame.body.size());
    append_u32(bytes, 4 + frame.head.size() + frame.body.size());
    append_u32(bytes, frame.head.size());
    bytes.append(frame.head).append(frame.body);
    return bytes;
}

IPYBOX_DECL std::span<char> action_frame_reader::prepare() {
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return bytes_.prepare();
    return bytes_.prepare(4 + std::min(read_u32(begun), largest_action_request));
}

IPYBOX_DECL result<std::optional<action_frame>> action_frame_reader::next() {
    auto const begun = bytes_.unread();
    if (begun.size() < 4) return std::nullopt;
    std::size_t const length = read_u32(begun);
    if (length > largest_action_request)
        return failure(errc::message_too_large,
                       "an action of the kernel has " + std::to_string(length) + " bytes, more than 65 MiB");
    auto const content = begun.substr(4, length);
    if (content.size() < length) return std::nullopt;
    action_frame frame;
    if (std::size_t const head = length < 4 ? length : read_u32(content); head + 4 <= length) {
        frame.head = content.substr(4, head);
        frame.body = content.substr(4 + head);
    }
    bytes_.consume(4 + length);
    return std::optional<action_frame>(std::move(frame));
}

} // namespace ipybox::detail
