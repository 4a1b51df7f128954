#pragma once

#include <ipybox/core/json_characters.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// A copy that is made as soon as it differs from the beginning of its source.
class late_copy {
  public:
    explicit late_copy(std::string_view source) noexcept : source_(source) {}

    void append(std::string_view piece) {
        if (!differs_ && source_.substr(same_, piece.size()) == piece) {
            same_ += piece.size();
            return;
        }
        if (!std::exchange(differs_, true)) {
            copy_.reserve(source_.size());
            copy_.append(source_.substr(0, same_));
        }
        copy_.append(piece);
    }

    /// So many bytes of the source are what a copy would be; none where there is one.
    [[nodiscard]] std::optional<std::size_t> same() const noexcept {
        return differs_ ? std::nullopt : std::optional(same_);
    }

    [[nodiscard]] std::string take() { return differs_ ? std::move(copy_) : std::string(source_.substr(0, same_)); }

  private:
    std::string_view source_;
    std::size_t same_ = 0;
    bool differs_ = false;
    std::string copy_;
};

/// The end of a string's text that needs no other spelling: plain characters, valid UTF-8 and the short escapes.
inline char const* end_of_plain_string(char const* at, char const* end) {
    for (;;) {
        at = ipybox::detail::end_of_run(at, end);
        if (at == end) return at;
        if (static_cast<signed char>(*at) < 0) {
            auto const c = first_character({at, static_cast<std::size_t>(end - at)});
            if (!c.valid) return at;
            at += c.bytes.size();
        } else {
            constexpr std::string_view short_escapes = "\"\\bfnrt";
            bool const is_short = *at == '\\' && at + 1 != end && short_escapes.find(at[1]) != std::string_view::npos;
            if (!is_short) return at;
            at += 2;
        }
    }
}

/// The digits of a number without the zeros at both ends, and the place of its point among them: equal for two texts
/// of one number. The sign is left out.
struct decimal_number {
    explicit decimal_number(std::string_view text) {
        auto const exponent = text.find_first_of("eE");
        std::ptrdiff_t whole = -1; // digits before the point
        for (char const letter : text.substr(0, exponent)) {
            if (letter == '.') whole = static_cast<std::ptrdiff_t>(digits.size());
            if (letter >= '0' && letter <= '9') digits += letter;
        }
        point = whole < 0 ? static_cast<std::ptrdiff_t>(digits.size()) : whole;
        auto const first = std::min(digits.find_first_not_of('0'), digits.size());
        digits.erase(0, first);
        digits.erase(digits.find_last_not_of('0') + 1);
        point = digits.empty() ? 0 : point - static_cast<std::ptrdiff_t>(first) + exponent_in(text, exponent);
    }
    friend bool operator==(decimal_number const&, decimal_number const&) = default;

    std::string digits;
    std::ptrdiff_t point = 0;

  private:
    static std::ptrdiff_t exponent_in(std::string_view text, std::size_t at) {
        if (at == text.npos) return 0;
        text.remove_prefix(at + 1);
        if (text.starts_with('+')) text.remove_prefix(1);
        constexpr std::ptrdiff_t beyond = 100'000; // of what a floating-point number can be
        std::ptrdiff_t exponent = 0;
        bool const read = std::from_chars(text.data(), text.data() + text.size(), exponent).ec == std::errc();
        return read ? std::clamp(exponent, -beyond, beyond) : beyond;
    }
};

/// Whether the value of a number is not the one of its text. Fifteen digits are kept by every floating-point number.
inline bool is_rounded(std::string_view token, nlohmann::json const& value) {
    bool const is_short = token.size() <= 16 && token.find_first_of("eE") == token.npos;
    return !is_short && decimal_number(token) != decimal_number(value.dump());
}

/// Copies a value where it has to, looking at every byte of it. The first thing that is wrong is remembered.
class json_copier {
  public:
    json_copier(std::string_view text, raw_json::duplicate_names same) : cursor_(text), same_(same), to_(text) {}

    bool all() { return value() && (cursor_.finished() || fail("is not JSON")); }

    [[nodiscard]] late_copy& copy() noexcept { return to_; }
    [[nodiscard]] bool rounds_numbers() const noexcept { return rounds_numbers_; }
    [[nodiscard]] std::string const& wrong() const noexcept { return wrong_; }

  private:
    bool value() {
        if (depth_ > json_cursor::deepest) return fail("is nested too deeply");
        switch (cursor_.peek()) {
        case '{': return object();
        case '[': return array();
        default: break;
        }
        auto const token = cursor_.skip();
        if (!token) return fail("is not JSON");
        if (token->front() == '"') return string(*token);
        if (*token != "true" && *token != "false" && *token != "null") return number(*token);
        to_.append(*token);
        return true;
    }

    bool object() {
        std::unordered_set<std::string> names;
        std::string_view separator = "{";
        ++depth_;
        bool const read = depth_ <= json_cursor::deepest && cursor_.object([&](std::string& name) {
            to_.append(std::exchange(separator, ","));
            append_string(name);
            to_.append(":");
            if (same_ == raw_json::duplicate_names::refused && !names.insert(name).second)
                return fail("has the member " + quoted(name) + " twice in one object");
            return value();
        });
        if (!read) return fail(depth_ > json_cursor::deepest ? "is nested too deeply" : "is not JSON");
        --depth_;
        to_.append(separator == "{" ? "{}" : "}");
        return true;
    }

    bool array() {
        std::string_view separator = "[";
        ++depth_;
        bool const read = depth_ <= json_cursor::deepest && cursor_.array([&] {
            to_.append(std::exchange(separator, ","));
            return value();
        });
        if (!read) return fail(depth_ > json_cursor::deepest ? "is nested too deeply" : "is not JSON");
        --depth_;
        to_.append(separator == "[" ? "[]" : "]");
        return true;
    }

    bool string(std::string_view token) {
        auto const* const end = token.data() + token.size() - 1;
        if (end_of_plain_string(token.data() + 1, end) == end) {
            to_.append(token);
            return true;
        }
        auto const text = json_cursor(token).string();
        if (!text) return fail("has a string that is not JSON");
        append_string(*text);
        return true;
    }

    /// Of text that the cursor has made UTF-8.
    void append_string(std::string_view text) {
        std::string spelled;
        (void)append_json_string(spelled, text);
        to_.append(spelled);
    }

    static bool is_integer(std::string_view token) noexcept {
        if (token.starts_with('-')) token.remove_prefix(1);
        bool const whole = !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos;
        return whole && (token.size() == 1 || token.front() != '0');
    }

    bool number(std::string_view token) {
        bool const whole = is_integer(token);
        if (token.size() > raw_json::longest_number)
            return fail("has a number of more than " + std::to_string(raw_json::longest_number) + " characters");
        if (!whole || token.size() > 18) {
            auto const parsed = read_json(token);
            if (!parsed && !whole) return fail("has a number that is not JSON, or too large");
            if (!parsed || (parsed->is_number_float() && (whole || is_rounded(token, *parsed)))) rounds_numbers_ = true;
        }
        to_.append(token);
        return true;
    }

    bool fail(std::string what) {
        if (wrong_.empty()) wrong_ = std::move(what);
        return false;
    }

    static std::string quoted(std::string_view text) {
        constexpr std::size_t longest = 100;
        std::string out;
        (void)append_json_string(out, text.size() > longest ? "…" : text);
        return out;
    }

    json_cursor cursor_;
    raw_json::duplicate_names same_;
    late_copy to_;
    std::string wrong_;
    int depth_ = 0;
    bool rounds_numbers_ = false;
};

} // namespace detail

IPYBOX_DECL result<raw_json> raw_json::read(std::string_view text, duplicate_names same) {
    detail::json_copier copier(text, same);
    if (!copier.all()) return failure(errc::invalid_argument, copier.wrong());
    return raw_json(copier.copy().take(), copier.rounds_numbers());
}

IPYBOX_DECL result<raw_json> raw_json::of_text(std::string text, duplicate_names same) {
    detail::json_copier copier(text, same);
    if (!copier.all()) return failure(errc::invalid_argument, copier.wrong());
    if (auto const size = copier.copy().same())
        text.resize(*size);
    else
        text = copier.copy().take();
    return raw_json(std::move(text), copier.rounds_numbers());
}

IPYBOX_DECL result<raw_json> raw_json::of(nlohmann::ordered_json const& value) {
    auto text = write_json(value);
    if (!text) return failure(text);
    return raw_json(std::move(*text), false);
}

IPYBOX_DECL std::string const& raw_json::null_text() noexcept {
    static auto const& text = ipybox::detail::never_destroyed<std::string>("null");
    return text;
}

IPYBOX_DECL result<raw_json> raw_json::of_sorted(nlohmann::json const& value) {
    auto text = write_sorted_json(value);
    if (!text) return failure(text);
    return raw_json(std::move(*text), false);
}

IPYBOX_DECL nlohmann::ordered_json raw_json::value() const {
    return read_json<nlohmann::ordered_json>(*text_).value_or(nullptr);
}

} // namespace ipybox::mcp
