#pragma once

#include <ipybox/session/output_text.hpp>

#include <utility>

namespace ipybox::detail {

/// The longest beginning of at most `size` bytes that ends between two characters.
inline std::size_t whole_characters(std::string_view text, std::size_t size) noexcept {
    if (size >= text.size()) return text.size();
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    return size;
}

inline std::string_view stripped(std::string_view text) noexcept {
    static constexpr std::string_view space = " \t\n\r\f\v";
    auto const begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

IPYBOX_DECL output_text::output_text(std::size_t bound, std::filesystem::path spill_dir)
    : half_(bound / 2), spill_dir_(std::move(spill_dir)) {}

IPYBOX_DECL void output_text::append(std::string_view text) {
    if (head_.size() + tail_.size() + text.size() > 2 * half_ && spill_.path.empty() && !failure_) {
        // The first time: everything up to now goes to the file, and the head gets its final size.
        auto file = os::make_file(spill_dir_, "ipybox-output-", ".txt");
        if (file) spill_ = std::move(*file);
        else failure_ = std::move(file).error();
        spill(head_);
        spill(tail_);
        head_.append(tail_);
        tail_.clear();
    }
    bool const spilling = !spill_.path.empty() || failure_;
    if (spilling) spill(text);
    if (!spilling) {
        head_.append(text);
        return;
    }
    if (head_.size() > half_) {
        auto const cut = whole_characters(head_, half_);
        tail_.assign(head_, cut);
        head_.resize(cut);
    }
    tail_.append(text);
    if (tail_.size() > 2 * half_) shorten_tail();
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
    if (auto written = os::write_all(spill_, text); !written) failure_ = std::move(written).error();
}

IPYBOX_DECL void output_text::clear() {
    head_.clear();
    tail_.clear();
    left_out_ = 0;
}

IPYBOX_DECL std::string output_text::take() {
    bool const spilled = !spill_.path.empty() || failure_;
    if (spilled) shorten_tail();
    std::string text = std::move(head_);
    if (left_out_ > 0) {
        text.append("\n[… ").append(std::to_string(left_out_)).append(" bytes left out");
        if (!spill_.path.empty()) text.append("; the whole output is in ").append(spill_.path.string());
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
