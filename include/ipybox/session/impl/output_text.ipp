#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/session/output_text.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::detail {

inline std::string_view stripped(std::string_view text) noexcept {
    static constexpr std::string_view space = " \t\n\r\f\v";
    auto const begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos) return text.substr(0, 0);
    return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

IPYBOX_DECL output_text::output_text(std::size_t bound, std::shared_ptr<output_places> places,
                                     std::shared_ptr<file_budget> budget)
    : half_(bound / 2), places_(std::move(places)), budget_(std::move(budget)) {}

IPYBOX_DECL void output_text::append(std::string_view text) {
    if (!spilling_ && head_.size() + text.size() <= 2 * half_) {
        head_.append(text);
        return;
    }
    if (!spilling_) begin_spilling();
    spill(text);
    auto const missing = whole_characters(text, half_ - std::min(half_, head_.size()));
    if (tail_.empty()) {
        head_.append(text.substr(0, missing));
        text.remove_prefix(missing);
    }
    tail_.append(text);
    if (tail_.size() > 2 * half_) shorten_tail();
}

/// From now on everything goes to the file, what is there already first; the head gets its final size.
IPYBOX_DECL void output_text::begin_spilling() {
    spilling_ = true;
    if (budget_->take_file(0)) {
        auto file = places_->make_spill_file("ipybox-output-", ".txt");
        if (file)
            spill_ = std::move(*file);
        else
            failure_ = std::move(file).error();
    }
    spill(head_);
    if (head_.size() <= half_) return;
    auto const cut = whole_characters(head_, half_);
    tail_.assign(head_, cut);
    head_.resize(cut);
}

/// Keeps the last half of the bound. Done when it has doubled, so that the cost per byte is constant.
IPYBOX_DECL void output_text::shorten_tail() {
    if (tail_.size() <= half_) return;
    auto const cut = whole_characters(tail_, tail_.size() - half_);
    tail_.erase(0, cut);
    left_out_ += cut;
}

IPYBOX_DECL void output_text::spill(std::string_view text) {
    if (failure_) return;
    auto const room = spill_.path.empty() ? 0 : budget_->take_bytes(text.size());
    unwritten_ += text.size() - room;
    text = text.substr(0, room);
    if (text.empty()) return;
    if (auto written = os::write_all(spill_, text); !written) failure_ = std::move(written).error();
}

IPYBOX_DECL void output_text::clear() {
    head_.clear();
    tail_.clear();
    left_out_ = 0;
}

IPYBOX_DECL std::string output_text::take() {
    if (spilling_) shorten_tail();
    std::string text = std::move(head_);
    if (left_out_ > 0) {
        text.append("\n[… ").append(std::to_string(left_out_)).append(" bytes left out");
        if (!spill_.path.empty())
            text.append(unwritten_ > 0 ? "; the beginning of the output is in " : "; the whole output is in ")
                .append(spill_.path.string());
        text.append(" …]\n");
    }
    text.append(tail_);
    auto const inner = stripped(text);
    if (inner.size() == text.size()) return text;
    auto const begin = static_cast<std::size_t>(inner.data() - text.data());
    text.resize(begin + inner.size());
    text.erase(0, begin);
    return text;
}

} // namespace ipybox::detail
