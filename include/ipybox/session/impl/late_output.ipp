#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/session/late_output.hpp>

#include <string>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// Text is dropped by the piece: small enough that little more than necessary is lost.
inline constexpr std::size_t longest_late_piece = 4096;

/// The least memory that a step takes.
inline std::size_t size_of(execute_step const& step) {
    std::size_t const held = sizeof(execute_step);
    if (auto const* chunk = std::get_if<output_chunk>(&step)) return held + chunk->text.size();
    if (auto const* shown = std::get_if<display>(&step))
        return held + shown->data.size() + shown->metadata.size() + shown->id.size();
    return held;
}

IPYBOX_DECL void late_output::keep(jupyter::message m) {
    auto step = output_in(m);
    if (auto const* chunk = std::get_if<output_chunk>(&step))
        keep_text(chunk->stream, chunk->text);
    else if (!std::holds_alternative<nothing_new>(step))
        keep_step(std::move(step));
}

IPYBOX_DECL void late_output::keep_text(output_chunk::stream_name stream, std::string_view text) {
    if (text.size() > bound)
        text.remove_prefix(whole_characters(text, text.size() - bound)); // the rest would be dropped
    while (!text.empty()) {
        auto* const last = steps_.empty() ? nullptr : std::get_if<output_chunk>(&steps_.back());
        if (last && last->stream == stream && last->text.size() + text.size() <= longest_late_piece) {
            last->text.append(text);
            bytes_ += text.size();
            return keep_bound();
        }
        auto const piece = text.substr(0, whole_characters(text, longest_late_piece));
        keep_step(output_chunk{stream, std::string(piece)});
        text.remove_prefix(piece.size());
    }
}

IPYBOX_DECL void late_output::keep_step(execute_step step) {
    bytes_ += size_of(step);
    steps_.push_back(std::move(step));
    keep_bound();
}

IPYBOX_DECL void late_output::keep_bound() {
    while (bytes_ > bound) {
        bytes_ -= size_of(steps_.front());
        steps_.pop_front();
    }
}

IPYBOX_DECL std::deque<execute_step> late_output::take() {
    bytes_ = 0;
    return std::exchange(steps_, {});
}

} // namespace ipybox::detail
