#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/session/output_text.hpp>

#include <string.h>

#include <algorithm>
#include <new>
#include <utility>

namespace ipybox::detail {

/// Without branches, so that compilers make vector instructions of it.
inline bool is_blank(std::string_view text) noexcept {
    unsigned char others = 0;
    for (char const c : text) {
        bool const is_space = (c == ' ') | (static_cast<unsigned char>(c - '\t') <= '\r' - '\t');
        others |= static_cast<unsigned char>(!is_space);
    }
    return others == 0;
}

/// The beginning of the last line. Quick, for a line may be as long as the kept text.
inline std::size_t last_line_of(std::string_view text) noexcept {
    std::size_t begin = 0;
    for (char const end : {'\n', '\r'})
        if (auto const* found = static_cast<char const*>(::memrchr(text.data(), end, text.size())))
            begin = std::max(begin, static_cast<std::size_t>(found - text.data()) + 1);
    return begin;
}

/// Without blank lines before it and white space behind it. The first line keeps its indentation: it may be the header
/// of a table. The kept text may be blank as a whole: 128 MiB, looked at in one handler.
inline std::string_view stripped(std::string_view text) noexcept {
    static constexpr std::string_view space = " \t\n\r\f\v";
    static constexpr std::size_t block = 4096;
    auto rest = text;
    while (rest.size() >= block && is_blank(rest.substr(0, block))) rest.remove_prefix(block);
    while (rest.size() >= block && is_blank(rest.substr(rest.size() - block))) rest.remove_suffix(block);
    auto const first = rest.find_first_not_of(space);
    if (first == std::string_view::npos) return text.substr(0, 0);
    auto const blank = static_cast<std::size_t>(rest.data() - text.data()) + first;
    auto const begin = last_line_of(text.substr(0, blank));
    return text.substr(begin, blank + rest.find_last_not_of(space) - first + 1 - begin);
}

IPYBOX_DECL output_text::output_text(std::size_t bound, std::shared_ptr<output_places> places,
                                     std::shared_ptr<file_budget> budget)
    : half_(bound / 2), places_(std::move(places)), budget_(std::move(budget)) {}

IPYBOX_DECL bool output_text::append(std::string_view text) {
    bool replaced = false;
    {
        std::scoped_lock const lock(mutex_);
        make_room(text.size());
        if (terminal_.only_adds(text)) {
            auto const* const end = static_cast<char const*>(::memrchr(text.data(), '\n', text.size()));
            if (end) line_ = kept_.size() + static_cast<std::size_t>(end - text.data()) + 1;
            kept_.append(text);
        } else {
            replaced = terminal_.add(kept_, line_, firm(), text);
        }
        if (kept_.size() - settled() > std::min(longest_line, half_ / 2)) firm_ = kept_.size();
    }
    if (!spilling_ && kept_.size() > 2 * half_) begin_spilling();
    (void)write_some();
    return replaced;
}

IPYBOX_DECL void output_text::expect(std::size_t bytes) {
    std::scoped_lock const lock(mutex_);
    make_room(bytes);
}

/// The position from which kept text may change: not before the text that readers know, nor within a long line.
IPYBOX_DECL std::size_t output_text::firm() const noexcept {
    auto const before = cleared_ + left_out_;
    auto const told = told_ > before ? static_cast<std::size_t>(told_ - before) : 0;
    return std::min(kept_.size(), std::max(firm_, told));
}

/// Room grows twofold while that is quick, and the heap has it ready; then all that is ever kept gets room at once,
/// which the system gives it as it is written to.
IPYBOX_DECL void output_text::make_room(std::size_t count) {
    static constexpr std::size_t quick = std::size_t(16) << 20;
    auto const wanted = kept_.size() + count;
    if (wanted <= kept_.capacity()) return;
    auto const most = 2 * half_ + half_ / 4 + slice;
    auto const twofold = std::min(2 * kept_.capacity(), most);
    if (wanted <= quick || !move_to_room_for(std::max(wanted, most))) (void)move_to_room_for(std::max(wanted, twofold));
}

/// False where the system has no such room. `reserve` of the same string would double its room whatever it is asked
/// for.
IPYBOX_DECL bool output_text::move_to_room_for(std::size_t size) {
    std::string larger;
    try {
        larger.reserve(size);
    } catch (std::bad_alloc const&) { return false; }
    kept_ = std::move(larger.append(kept_));
    return true;
}

/// From now on everything goes to the file, what is there already first.
IPYBOX_DECL void output_text::begin_spilling() {
    spilling_ = true;
    if (!budget_->take_file(0)) return;
    auto file = places_->make_spill_file("ipybox-output-", ".txt");
    std::scoped_lock const lock(mutex_);
    if (file)
        spill_ = std::move(*file);
    else
        failure_ = std::move(file).error();
}

IPYBOX_DECL bool output_text::write_some() {
    if (!spilling_) return false;
    std::size_t end = 0;
    {
        std::scoped_lock const lock(mutex_); // readers say what they know by now
        end = std::max(in_file_, settled());
    }
    auto const text = std::string_view(kept_).substr(in_file_, std::min(slice, end - in_file_));
    spill(text);
    in_file_ += text.size();
    if (in_file_ < end) return true;
    shorten(half_ / 4); // not with each text: the tail is moved
    return false;
}

IPYBOX_DECL void output_text::write_all() {
    firm_ = kept_.size();
    while (write_some()) {}
}

/// Keeps the last half of the bound, and some slack.
IPYBOX_DECL void output_text::shorten(std::size_t slack) {
    if (kept_.size() <= 2 * half_ + slack) return;
    auto const head = left_out_ == 0 ? whole_characters(kept_, half_) : head_;
    auto const tail = std::string_view(kept_).substr(head);
    auto const cut = whole_characters(tail, std::min(tail.size() - half_, in_file_ - head));
    std::scoped_lock const lock(mutex_);
    head_ = head;
    kept_.erase(head_, cut);
    in_file_ -= cut;
    left_out_ += cut;
    for (auto* const place : {&line_, &firm_}) *place = *place > head_ + cut ? *place - cut : std::min(*place, head_);
}

IPYBOX_DECL void output_text::spill(std::string_view text) {
    if (failure_ || !budget_) return; // closed
    auto const room = spill_.path.empty() ? 0 : budget_->take_bytes(text.size());
    if (room < text.size()) {
        std::scoped_lock const lock(mutex_);
        no_room_ += text.size() - room;
    }
    text = text.substr(0, room);
    if (text.empty()) return;
    if (auto written = os::write_all(spill_, text); !written) failure_ = std::move(written).error();
}

IPYBOX_DECL void output_text::clear() {
    write_all();
    std::scoped_lock const lock(mutex_);
    cleared_ = end();
    kept_.clear();
    in_file_ = 0;
    left_out_ = 0;
    line_ = firm_ = 0;
    terminal_.begin();
}

IPYBOX_DECL void output_text::finish() {
    write_all();
    if (spilling_) shorten(0);
    close();
}

IPYBOX_DECL void output_text::close() noexcept {
    spill_.descriptor.reset();
    places_.reset();
    budget_.reset();
}

IPYBOX_DECL std::string output_text::notice(std::uint64_t bytes) const {
    auto text = "\n[… " + std::to_string(bytes) + " bytes left out";
    if (!spill_.path.empty())
        text.append(no_room_ > 0 ? "; the beginning of the output is in " : "; the whole output is in ")
            .append(spill_.path.string());
    return text.append(" …]\n");
}

IPYBOX_DECL std::string output_text::take() {
    finish();
    return presented(std::move(kept_));
}

IPYBOX_DECL std::string output_text::text() const {
    std::scoped_lock const lock(mutex_);
    return presented(kept_);
}

/// The kept text as it is shown.
IPYBOX_DECL std::string output_text::presented(std::string text) const {
    if (left_out_ > 0) text.insert(head_, notice(left_out_));
    auto const inner = stripped(text);
    if (inner.size() == text.size()) return text;
    auto const begin = static_cast<std::size_t>(inner.data() - text.data());
    text.resize(begin + inner.size());
    text.erase(0, begin);
    return text;
}

// --- positions -----------------------------------------------------------------------------------------------------------

/// The position behind everything.
IPYBOX_DECL std::uint64_t output_text::end() const noexcept { return cleared_ + kept_.size() + left_out_; }

/// The position of the character that a position is within, where that is kept.
IPYBOX_DECL std::uint64_t output_text::border_before(std::uint64_t position) const noexcept {
    if (position <= cleared_) return cleared_;
    if (position >= end()) return end();
    auto const at = static_cast<std::size_t>(position - cleared_);
    if (left_out_ == 0 || at < head_) return cleared_ + whole_characters(kept_, at);
    if (at < head_ + left_out_) return position;
    return cleared_ + left_out_ + whole_characters(kept_, at - left_out_);
}

/// Adds what comes next, as much as may be copied while the one that writes waits. False where nothing comes before the
/// limit.
IPYBOX_DECL bool output_text::add_to(job_output& out, std::uint64_t limit) const {
    static constexpr std::size_t most = std::size_t(1) << 20;
    if (out.to < cleared_ || out.to >= limit) return false; // it was cleared meanwhile
    auto const at = static_cast<std::size_t>(out.to - cleared_);
    auto const wanted = static_cast<std::size_t>(limit - out.to);
    auto const behind_gap = head_ + left_out_;
    if (left_out_ > 0 && at >= head_ && at < behind_gap) {
        auto const gap = std::min(behind_gap - at, wanted);
        if (out.left_out == 0) out.gap_begin = out.text.size();
        out.text += notice(gap);
        if (out.left_out == 0) {
            out.gap_end = out.text.size();
            out.behind_gap = out.to + gap;
        }
        out.left_out += gap;
        out.to += gap;
        return true;
    }
    auto rest = std::string_view(kept_);
    if (left_out_ > 0 && at < head_) rest = rest.substr(0, head_);
    rest.remove_prefix(left_out_ > 0 && at >= behind_gap ? at - left_out_ : at);
    auto const size = whole_characters(rest, std::min(wanted, most));
    out.text += rest.substr(0, size);
    out.to += size;
    return size > 0;
}

IPYBOX_DECL job_output output_text::between(std::uint64_t from, std::uint64_t to) const {
    {
        // From here on the last line, as far as it is asked for, is only continued.
        std::scoped_lock const lock(mutex_);
        told_ = std::max(told_, std::min(to, end()));
    }
    return look(from, to);
}

IPYBOX_DECL job_output output_text::look(std::uint64_t from, std::uint64_t to) const {
    job_output out;
    {
        std::scoped_lock const lock(mutex_);
        out.end = end();
        out.from = out.to = border_before(from);
        out.spill_file = spill_.path;
    }
    for (bool more = true; more;) {
        std::scoped_lock const lock(mutex_);
        more = add_to(out, std::min({to, out.end, end()}));
    }
    return out;
}

} // namespace ipybox::detail
