#pragma once

#include <ipybox/jupyter/wire_format.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::jupyter {

IPYBOX_DECL std::vector<std::string> to_wire(message& m, signer& with) {
    auto json_frames = to_frames(m);
    std::vector<std::string> frames;
    frames.reserve(6 + m.buffers.size());
    frames.emplace_back(wire_delimiter);
    frames.push_back(
        with.sign({json_frames.header, json_frames.parent_header, json_frames.metadata, json_frames.content}));
    frames.push_back(std::move(json_frames.header));
    frames.push_back(std::move(json_frames.parent_header));
    frames.push_back(std::move(json_frames.metadata));
    frames.push_back(std::move(json_frames.content));
    std::move(m.buffers.begin(), m.buffers.end(), std::back_inserter(frames));
    m.buffers.clear();
    return frames;
}

IPYBOX_DECL result<message> from_wire(message::channel on, std::span<std::string_view const> frames, signer& with,
                                      wire_limits const& limits) {
    if (frames.size() > limits.frames) return failure(errc::protocol_error, "a Jupyter message has too many frames");
    std::size_t bytes = 0;
    for (auto const frame : frames) {
        if (frame.size() > limits.bytes - bytes)
            return failure(errc::message_too_large,
                           "a Jupyter message is larger than " + std::to_string(limits.bytes >> 20) + " MiB");
        bytes += frame.size();
    }

    // Identities are opaque, but none can be the delimiter: it ends them by definition.
    auto const searched = frames.first(std::min(frames.size(), limits.identities + 1));
    auto const found = std::find(searched.begin(), searched.end(), wire_delimiter);
    if (found == searched.end()) return failure(errc::protocol_error, "a Jupyter message has no delimiter <IDS|MSG>");
    auto const rest = frames.subspan(static_cast<std::size_t>(found - searched.begin()) + 1);
    if (rest.size() < 5) return failure(errc::protocol_error, "a Jupyter message has fewer frames than it must have");

    signed_frames const parts = {rest[1], rest[2], rest[3], rest[4]};
    if (!with.verify(rest[0], parts))
        return failure(errc::protocol_error, "the signature of a Jupyter message is wrong");

    auto m = from_frames(on, parts[0], parts[1], parts[2], parts[3], limits.json);
    if (!m) return m;
    m->buffers.reserve(rest.size() - 5);
    for (auto const buffer : rest.subspan(5)) {
        m->size += buffer.size();
        m->buffers.emplace_back(buffer);
    }
    return m;
}

} // namespace ipybox::jupyter
