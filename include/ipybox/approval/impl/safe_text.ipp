#pragma once

#include <ipybox/approval/impl/html_markup.hpp>
#include <ipybox/approval/plain_character.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/core/hex.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <utility>

namespace ipybox {
namespace detail {

/// More blanks in a row than these are counted: they could push what follows out of sight.
inline constexpr std::size_t most_blanks = 8;

/// 12,345
inline std::string grouped(std::size_t number) {
    auto digits = std::to_string(number);
    for (auto at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

/// Takes pieces that are not to be torn apart, makes rows of them, and keeps the first and the last.
class safe_rows {
  public:
    explicit safe_rows(safe_text::options const& options)
        : margin_(options.columns == 0 ? "" : options.margin), drawn_by_(options.drawn_by) {
        if (options.columns == 0) return;
        auto const margin = columns_of(margin_);
        columns_ = std::max(options.columns, margin + 8) - 1; // some terminals do odd things behind the last column
        most_ = options.rows == 0 ? 0 : std::max<std::size_t>(options.rows, 3);
        most_head_ = most_ * 2 / 3;
        row_ = margin_;
        used_ = margin;
    }

    [[nodiscard]] safe_text::front_end drawn_by() const noexcept { return drawn_by_; }

    void put(std::string_view piece) {
        auto const columns = columns_of(piece);
        if (columns_ != 0 && used_ + columns > columns_) {
            end_row();
            row_ = margin_;
            used_ = columns_of(margin_);
        }
        row_ += piece;
        used_ += columns;
        auto const characters = count_characters(piece);
        in_row_ += characters;
        all_ += characters;
    }

    safe_text finish() {
        end_row();
        safe_text made;
        made.characters = all_;
        if (left_out_ > 0) drop_first(); // for the row that says so
        made.left_out = left_out_;
        made.rows = std::move(head_);
        if (left_out_ > 0) {
            auto note = "... " + grouped(left_out_) + " of " + grouped(all_) + " characters are left out ...";
            if (note.size() > columns_) note.resize(columns_);
            bool const stands_apart = drawn_by_ == safe_text::front_end::markup;
            if (stands_apart) made.rows.emplace_back();
            made.rows.push_back(std::move(note));
            if (stands_apart) made.rows.emplace_back();
        }
        for (auto& [text, unused] : tail_) made.rows.push_back(std::move(text));
        return made;
    }

  private:
    struct row {
        std::string text;
        std::size_t characters;
    };

    /// At most. Other characters than ASCII are twice as wide, at least on some terminals.
    static std::size_t columns_of(std::string_view text) {
        auto const wide =
            std::count_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xC0; });
        return count_characters(text) + static_cast<std::size_t>(wide);
    }

    void end_row() {
        if (most_ == 0 || head_.size() < most_head_) {
            head_.push_back(std::exchange(row_, {}));
        } else {
            tail_.push_back({std::exchange(row_, {}), in_row_});
            if (tail_.size() > most_ - most_head_) drop_first();
        }
        in_row_ = 0;
    }

    void drop_first() {
        left_out_ += tail_.front().characters;
        tail_.pop_front();
    }

    std::string margin_;
    safe_text::front_end drawn_by_;
    std::size_t columns_ = 0;   ///< that may be used; 0: any number
    std::size_t most_ = 0;      ///< rows; 0: any number
    std::size_t most_head_ = 0; ///< of which are the first
    std::string row_;           ///< that is not full
    std::size_t used_ = 0;      ///< columns of it
    std::size_t in_row_ = 0;    ///< characters of it
    std::size_t all_ = 0;
    std::size_t left_out_ = 0;
    std::vector<std::string> head_;
    std::deque<row> tail_;
};

/// The place of a text, which says what a backslash in it means.
enum class text_place {
    as_it_is,    ///< within quotes, or in JSON, which has spelled its own
    in_c_quotes, ///< `$'…'`
};

/// `\x1b` and its like.
inline std::string spelled_number(char kind, char32_t value, int digits) {
    std::string text{'\\', kind};
    while (digits-- > 0) text += hex_digits[value >> (4 * digits) & 0xF];
    return text;
}

inline std::string spelled(utf8_character const& c) {
    if (!c.valid) {
        std::string text;
        for (char const byte : c.bytes) text += spelled_number('x', static_cast<unsigned char>(byte), 2);
        return text;
    }
    if (c.code == '\n') return "\\n";
    if (c.code < 0x80) return spelled_number('x', c.code, 2);
    return c.code < 0x10000 ? spelled_number('u', c.code, 4) : spelled_number('U', c.code, 8);
}

/// Blanks at the beginning that are too many to be shown.
inline std::size_t blanks_to_count(std::string_view text) {
    if (text.front() != ' ') return 0;
    auto const end = std::min(text.find_first_not_of(' '), text.size());
    return end > most_blanks ? end : 0;
}

/// Whether the first character can be shown as it is.
inline bool begins_plainly(std::string_view text, utf8_character const& first, safe_text::front_end drawn_by) {
    bool const is_plain = first.valid && is_plain_character(first.code);
    return is_plain && !(drawn_by == safe_text::front_end::markup && begins_html_markup(text));
}

/// Whether all of it can be shown as it is.
inline bool is_plain_text(std::string_view text, safe_text::front_end drawn_by) {
    while (!text.empty()) {
        auto const c = first_character(text);
        if (!begins_plainly(text, c, drawn_by) || blanks_to_count(text) > 0) return false;
        text.remove_prefix(c.bytes.size());
    }
    return true;
}

IPYBOX_DECL void put_text(safe_rows& out, std::string_view text, text_place place) {
    while (!text.empty()) {
        if (auto const blanks = blanks_to_count(text); blanks > 0) {
            out.put("\\x20{" + std::to_string(blanks) + "}");
            text.remove_prefix(blanks);
            continue;
        }
        auto const c = first_character(text);
        bool const has_meaning = place == text_place::in_c_quotes && (c.code == '\\' || c.code == '\'');
        if (has_meaning && c.valid)
            out.put(std::string("\\").append(c.bytes));
        else if (begins_plainly(text, c, out.drawn_by()))
            out.put(c.bytes);
        else
            out.put(spelled(c));
        text.remove_prefix(c.bytes.size());
    }
}

/// A word as one would type it in a shell.
inline void put_word(safe_rows& out, std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return put_text(out, word, text_place::as_it_is);
    if (!is_plain_text(word, out.drawn_by())) {
        out.put("$'");
        put_text(out, word, text_place::in_c_quotes);
        return out.put("'");
    }
    out.put("'");
    for (auto quote = word.find('\''); quote != std::string_view::npos; quote = word.find('\'')) {
        put_text(out, word.substr(0, quote), text_place::as_it_is);
        out.put("'\\''");
        word.remove_prefix(quote + 1);
    }
    put_text(out, word, text_place::as_it_is);
    out.put("'");
}

/// The directory, the variables and the input.
inline void put_surroundings(safe_rows& out, approval_subject const& subject) {
    auto const* opening = " (";
    if (!subject.cwd.empty()) {
        out.put(std::exchange(opening, ", "));
        out.put("in ");
        put_word(out, subject.cwd.native());
    }
    for (auto const& [name, value] : subject.env) {
        out.put(std::exchange(opening, ", "));
        if (!value) out.put("without ");
        put_word(out, name);
        if (!value) continue;
        out.put("=");
        put_word(out, *value);
    }
    if (!subject.input.empty()) {
        out.put(std::exchange(opening, ", "));
        out.put("with input ");
        put_word(out, subject.input);
    }
    if (*opening == ',') out.put(")");
}

/// The resource or the prompt, or that the list is asked for.
inline void put_content(safe_rows& out, approval_subject const& subject) {
    bool const is_resource = subject.kind == approval_subject::action::resource;
    if (!is_resource && subject.kind != approval_subject::action::prompt) return;
    out.put(" ");
    auto const& name = is_resource ? subject.uri : subject.prompt;
    name.empty() ? out.put("(list)") : put_word(out, name);
}

/// All in one row.
template <class Put>
std::string one_row(safe_text::front_end drawn_by, Put put) {
    safe_text::options how;
    how.drawn_by = drawn_by;
    safe_rows out(how);
    put(out);
    return std::move(out.finish().rows.front());
}

} // namespace detail

IPYBOX_DECL std::string safe_text::text() const {
    std::string all;
    for (auto const& row : rows) all.append(all.empty() ? "" : "\n").append(row);
    return all;
}

IPYBOX_DECL safe_text safe_text::of(approval_subject const& subject) { return of(subject, options()); }

IPYBOX_DECL safe_text safe_text::of(approval_subject const& subject, options const& how) {
    detail::safe_rows out(how);
    for (char const& letter : detail::words_of(subject.kind)) out.put({&letter, 1});
    auto const* separator = " ";
    for (auto const* name : {&subject.server, &subject.tool}) {
        if (name->empty()) continue;
        out.put(std::exchange(separator, "."));
        detail::put_word(out, *name);
    }
    detail::put_content(out, subject);
    if (subject.arguments) {
        out.put(" ");
        auto const& exact = subject.exact_arguments;
        detail::put_text(out, exact.empty() ? json_text(*subject.arguments) : exact, detail::text_place::as_it_is);
    }
    for (auto const& word : subject.argv) {
        out.put(" ");
        detail::put_word(out, word);
    }
    if (!subject.host.empty()) {
        out.put(" ");
        detail::put_word(out, subject.host);
        out.put(" port " + std::to_string(subject.port));
        out.put(" by ");
        detail::put_word(out, subject.protocol);
    }
    detail::put_surroundings(out, subject);
    return out.finish();
}

IPYBOX_DECL std::string safe_text::word(std::string_view text, front_end drawn_by) {
    return detail::one_row(drawn_by, [text](detail::safe_rows& out) { detail::put_word(out, text); });
}

IPYBOX_DECL std::string safe_text::title(approval_subject const& subject) {
    constexpr std::size_t longest = 40;
    std::string title(detail::words_of(subject.kind));
    auto separator = ' ';
    auto const add = [&](std::string_view name) {
        if (name.empty()) return;
        title += std::exchange(separator, '.');
        auto const kept = name.substr(0, whole_characters(name, longest));
        title += safe_text::word(kept);
        if (kept.size() < name.size()) title += "...";
    };
    add(subject.server);
    add(subject.tool);
    add(subject.prompt);
    add(subject.uri);
    if (!subject.argv.empty()) add(subject.argv.front());
    add(subject.host);
    return title;
}

} // namespace ipybox
