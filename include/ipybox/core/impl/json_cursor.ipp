#pragma once

#include <ipybox/core/json_characters.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/utf8.hpp>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace ipybox {
namespace detail {

inline void append_utf8(std::string& to, unsigned code) {
    auto const byte = [&to](unsigned value) { to.push_back(static_cast<char>(value)); };
    auto const tail = [&](int shift) { byte(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
        byte(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        byte(0xe0 | code >> 12);
        tail(6);
    } else {
        byte(0xf0 | code >> 18);
        tail(12);
        tail(6);
    }
    tail(0);
}

inline constexpr unsigned replacement_character = 0xfffd;

enum class number_kind { none, natural, negative, real };

/// RFC 8259 section 6.
inline number_kind kind_of_number(std::string_view text) noexcept {
    auto const digits = [&text] {
        std::size_t count = 0;
        for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++count) text.remove_prefix(1);
        return count;
    };
    auto const starts = [&text](char c) {
        bool const so = text.starts_with(c);
        if (so) text.remove_prefix(1);
        return so;
    };
    auto kind = starts('-') ? number_kind::negative : number_kind::natural;
    bool const zero = text.starts_with('0');
    auto const whole = digits();
    if (whole == 0 || (zero && whole > 1)) return number_kind::none;
    if (starts('.')) {
        kind = number_kind::real;
        if (digits() == 0) return number_kind::none;
    }
    if (starts('e') || starts('E')) {
        kind = number_kind::real;
        if (!starts('+')) (void)starts('-');
        if (digits() == 0) return number_kind::none;
    }
    return text.empty() ? kind : number_kind::none;
}

} // namespace detail

IPYBOX_DECL char json_cursor::peek() noexcept {
    if (failed_) return 0;
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
    return at_ == end_ ? '\0' : *at_;
}

IPYBOX_DECL bool json_cursor::take(char expected) noexcept {
    if (peek() != expected) return fail();
    ++at_;
    return true;
}

IPYBOX_DECL bool json_cursor::word(std::string_view expected) noexcept {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) return fail();
    at_ += expected.size();
    return true;
}

IPYBOX_DECL std::optional<std::string_view> json_cursor::skip(int levels) {
    auto const first = peek();
    auto const* const begin = at_;
    bool const known = first == '"'                   ? skip_string()
                       : first == '{' || first == '[' ? skip_nested(levels)
                                                      : !word_or_number().empty();
    if (!known) {
        fail();
        return std::nullopt;
    }
    return std::string_view(begin, static_cast<std::size_t>(at_ - begin));
}

/// A string ends at the first quote that no odd number of backslashes stands before.
IPYBOX_DECL bool json_cursor::skip_string() noexcept {
    auto const* const open = at_++;
    for (;;) {
        auto const* const quote = static_cast<char const*>(std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_)));
        if (quote == nullptr) return false;
        at_ = quote + 1;
        auto const* before = quote;
        while (before - 1 != open && before[-1] == '\\') --before;
        if ((quote - before) % 2 == 0) return true;
    }
}

IPYBOX_DECL bool json_cursor::skip_nested(int levels) noexcept {
    int open = 0;
    while (at_ != end_) {
        switch (*at_) {
        case '"':
            if (!skip_string()) return false;
            continue;
        case '{':
        case '[':
            if (++open > levels - depth_) return false;
            break;
        case '}':
        case ']':
            if (--open == 0) {
                ++at_;
                return true;
            }
            break;
        default: break;
        }
        ++at_;
    }
    return false;
}

IPYBOX_DECL std::optional<std::string_view> json_cursor::verify() {
    (void)peek();
    auto const* const begin = at_;
    if (verified()) return std::string_view(begin, static_cast<std::size_t>(at_ - begin));
    fail();
    return std::nullopt;
}

IPYBOX_DECL bool json_cursor::verified() {
    switch (peek()) {
    case '{': return object([this](std::string&) { return verified(); });
    case '[': return array([this] { return verified(); });
    case '"': return string().has_value();
    case 't': return word("true");
    case 'f': return word("false");
    case 'n': return word("null");
    default: return detail::kind_of_number(word_or_number()) != detail::number_kind::none;
    }
}

IPYBOX_DECL std::optional<std::string> json_cursor::string() {
    std::optional<std::string> text;
    if (!take('"')) return text;
    text.emplace();
    for (;;) {
        auto const* const run = at_;
        at_ = detail::end_of_run(at_, end_);
        text->append(run, at_);
        if (at_ == end_) break;
        if (*at_ == '"') {
            ++at_;
            return text;
        }
        bool const good = *at_ == '\\' ? escape(*text) : static_cast<signed char>(*at_) < 0 && sequence(*text);
        if (!good) break;
    }
    fail();
    text.reset();
    return text;
}

/// Copies characters that are not ASCII.
IPYBOX_DECL bool json_cursor::sequence(std::string& to) {
    while (at_ != end_ && static_cast<signed char>(*at_) < 0) {
        auto const c = first_character({at_, static_cast<std::size_t>(end_ - at_)});
        if (c.valid)
            to.append(c.bytes);
        else
            detail::append_utf8(to, detail::replacement_character);
        at_ += c.valid ? c.bytes.size() : 1;
    }
    return true;
}

IPYBOX_DECL bool json_cursor::escape(std::string& to) {
    if (end_ - at_ < 2) return false;
    char const which = at_[1];
    at_ += 2;
    switch (which) {
    case '"':
    case '\\':
    case '/': to.push_back(which); return true;
    case 'b': to.push_back('\b'); return true;
    case 'f': to.push_back('\f'); return true;
    case 'n': to.push_back('\n'); return true;
    case 'r': to.push_back('\r'); return true;
    case 't': to.push_back('\t'); return true;
    case 'u': break;
    default: return false;
    }
    auto const code = four_digits();
    if (!code) return false;
    bool const high = *code >= 0xd800 && *code <= 0xdbff;
    if (high && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
        auto const* const second = at_;
        at_ += 2;
        auto const low = four_digits();
        if (!low) return false;
        if (*low >= 0xdc00 && *low <= 0xdfff) {
            detail::append_utf8(to, 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00));
            return true;
        }
        at_ = second;
    }
    detail::append_utf8(to, *code >= 0xd800 && *code <= 0xdfff ? detail::replacement_character : *code);
    return true;
}

IPYBOX_DECL std::optional<unsigned> json_cursor::four_digits() noexcept {
    unsigned code = 0;
    if (end_ - at_ < 4) return std::nullopt;
    auto const parsed = std::from_chars(at_, at_ + 4, code, 16);
    if (parsed.ec != std::errc() || parsed.ptr != at_ + 4 || *at_ == '-') return std::nullopt;
    at_ += 4;
    return code;
}

/// Whatever stands before the next separator.
IPYBOX_DECL std::string_view json_cursor::word_or_number() noexcept {
    auto const* const begin = at_;
    while (at_ != end_ && std::strchr(",:]} \t\n\r\"[{", *at_) == nullptr) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
}

IPYBOX_DECL std::optional<json_cursor::number_value> json_cursor::number() {
    auto const* const begin = at_;
    auto const text = word_or_number();
    std::optional<number_value> value;
    auto const read = [&](auto n) {
        bool const fits = std::from_chars(begin, at_, n).ec == std::errc();
        if (fits) value = n;
        return fits;
    };
    switch (detail::kind_of_number(text)) {
    case detail::number_kind::natural:
        if (read(std::uint64_t())) return value;
        break;
    case detail::number_kind::negative:
        if (read(std::int64_t())) return value;
        break;
    case detail::number_kind::real: break;
    case detail::number_kind::none: fail(); return value;
    }
#ifdef __cpp_lib_to_chars // not every standard library reads floating point
    if (read(double())) return value;
#endif
    // Knows what from_chars does not say: whether a number that does not fit is too small (then it is zero) or too
    // large.
    auto const other = nlohmann::json::parse(text, nullptr, false);
    if (other.is_number())
        value = other.get<double>();
    else
        fail();
    return value;
}

} // namespace ipybox
