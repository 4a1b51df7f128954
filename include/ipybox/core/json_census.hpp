#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/json_depth.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ipybox::detail {

/// How much a JSON text may hold before anything is built from it.
struct json_bounds {
    std::size_t bytes = 0;

    /// Values and names of members: a value takes up to a hundred bytes of memory, however short its text is.
    std::size_t values = 0;

    std::size_t depth = detail::deepest_json; ///< arrays and objects inside each other
};

/// Which bound a text exceeds.
enum class json_excess { none, bytes, values, depth };

/// The end of a string that begins before `at`: behind its closing quote, or at the end of the text.
[[nodiscard]] inline std::size_t end_of_string(std::string_view text, std::size_t at) noexcept {
    constexpr std::size_t step = 32; // searching costs more than looking at so few
    while (at < text.size()) {
        for (auto const close = std::min(at + step, text.size()); at < close; ++at) {
            if (text[at] == '"') return at + 1;
            if (text[at] == '\\') ++at;
        }
        if (at >= text.size()) break;
        auto const quote = text.find('"', at);
        if (quote == std::string_view::npos) break;
        auto before = quote;
        while (before != at && text[before - 1] == '\\') --before;
        at = quote + 1;
        if ((quote - before) % 2 == 0) return at;
    }
    return text.size();
}

/// The numbers of values in a JSON text.
struct json_census {
    std::size_t values = 0; ///< at least as many as there are; at most one more than the bound
    json_excess excess = json_excess::none;
};

/**
 * \brief Counts what a JSON text holds, in one pass that stops at a bound and builds nothing.
 * \details Whether it is JSON is not looked at. Each value but the outermost follows a bracket, a comma or a colon:
 * these are counted.
 */
[[nodiscard]] inline json_census count_json(std::string_view text, json_bounds const& bounds) noexcept {
    json_census census{1, text.size() > bounds.bytes ? json_excess::bytes : json_excess::none};
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size() && census.excess == json_excess::none;) {
        switch (text[at++]) {
        case '"': at = end_of_string(text, at); break;
        case '[':
        case '{':
            if (++depth > bounds.depth) census.excess = json_excess::depth;
            [[fallthrough]];
        case ',':
        case ':': ++census.values; break;
        case ']':
        case '}':
            if (depth > 0) --depth;
            break;
        default: break;
        }
        if (census.values > bounds.values && census.excess == json_excess::none) census.excess = json_excess::values;
    }
    return census;
}

/**
 * \brief Whether a JSON text has a number that may not be the same as one of 64 bits: of many digits, or with a large
 * exponent.
 * \details Reading it into a value of a JSON library changes it without a word. A number inside a string may count,
 * too.
 */
[[nodiscard]] inline bool has_wide_number(std::string_view text) noexcept {
    constexpr int wide = 18;    // digits of any number that fits
    constexpr int exponent = 3; // of a double up to 308
    int digits = 0;
    bool behind_exponent = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char const c = text[at];
        if (c >= '0' && c <= '9') {
            if (++digits > (behind_exponent ? exponent - 1 : wide)) return true;
        } else if (c == '"') {
            at = end_of_string(text, at + 1) - 1;
            digits = 0;
        } else if ((c == 'e' || c == 'E') && digits > 0) {
            behind_exponent = true;
            digits = 0;
        } else if (c != '.' && c != '-' && c != '+') {
            behind_exponent = false;
            digits = 0;
        }
    }
    return false;
}

} // namespace ipybox::detail
