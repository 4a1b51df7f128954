#pragma once

#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::codegen {
namespace detail {

template <class Use>
void for_each_character(std::string_view text, Use use) {
    while (!text.empty()) {
        auto const c = first_character(text);
        use(c);
        text.remove_prefix(c.bytes.size());
    }
}

inline void append(std::string& out, utf8_character c) { out += c.valid ? c.bytes : "\xEF\xBF\xBD"; }

struct code_range {
    char32_t first, last;
};

/// Characters that are invisible, or change the look of their neighbours: controls, blanks without width, direction
/// marks, fillers, tags.
inline constexpr code_range unseen[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x34F, 0x34F},     {0x61C, 0x61C},    {0x115F, 0x1160},
    {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},  {0x3164, 0x3164},
    {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

inline bool is_unseen(char32_t code) {
    return std::any_of(std::begin(unseen), std::end(unseen),
                       [&](code_range range) { return code >= range.first && code <= range.last; });
}

inline std::string escape_of(char32_t code) {
    std::array<char, 12> out{};
    std::snprintf(out.data(), out.size(),
                  code > 0xFFFF ? "\\U%08x"
                  : code > 0xFF ? "\\u%04x"
                                : "\\x%02x",
                  static_cast<unsigned>(code));
    return out.data();
}

/// A finite double that is whole and exact as an integer of 64 bits.
inline bool is_whole(double number) { return std::abs(number) < 9.2e18 && std::trunc(number) == number; }

inline void append_number(std::string& out, nlohmann::ordered_json const& value) {
    if (value.is_number_float() && is_whole(value.get<double>()))
        out += std::to_string(value.get<std::int64_t>());
    else
        out += value.is_number_float() && !std::isfinite(value.get<double>()) ? "None" : json_text(value);
}

inline void append_value(std::string& out, nlohmann::ordered_json const& value) {
    auto separate = [&, first = true]() mutable {
        if (!std::exchange(first, false)) out += ", ";
    };
    if (value.is_object()) {
        out += '{';
        for (auto const& [name, member] : value.items()) {
            separate();
            out += string_literal(name) + ": ";
            append_value(out, member);
        }
        out += '}';
    } else if (value.is_array()) {
        out += '[';
        for (auto const& item : value) {
            separate();
            append_value(out, item);
        }
        out += ']';
    } else if (value.is_string()) {
        out += string_literal(value.get_ref<std::string const&>());
    } else if (value.is_boolean()) {
        out += value.get<bool>() ? "True" : "False";
    } else if (value.is_number()) {
        append_number(out, value);
    } else {
        out += "None";
    }
}

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Lines without blanks at their ends, tabs as blanks.
inline std::vector<std::string> lines_of(std::string_view text) {
    static constexpr std::size_t tab = 8;
    std::vector<std::string> lines(1);
    auto const finish = [&] { lines.back().resize(lines.back().find_last_not_of(' ') + 1); };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
        if (text[i] == '\n' || text[i] == '\r') {
            finish();
            lines.emplace_back();
        } else if (text[i] == '\t') {
            lines.back().append(tab - lines.back().size() % tab, ' ');
        } else {
            lines.back().push_back(text[i]);
        }
    }
    finish();
    return lines;
}

/// Text that may stand between triple quotes: no backslash that is not ours, no quote before another one or at the end.
inline std::string escaped_for_docstring(std::string_view line, bool ends) {
    std::string out;
    for (std::size_t i = 0; i < line.size();) {
        auto const c = first_character(line.substr(i));
        i += c.bytes.size();
        bool const quote = c.code == '"' && (i == line.size() ? ends : line[i] == '"');
        if (c.code == '\\' || quote) out += '\\';
        if (is_unseen(c.code))
            out += escape_of(c.code);
        else
            append(out, c);
    }
    return out;
}

} // namespace detail

IPYBOX_DECL std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    detail::for_each_character(text, [&](utf8_character c) { detail::append(out, c); });
    return out;
}

IPYBOX_DECL std::string string_literal(std::string_view text) {
    std::string out = "\"";
    detail::for_each_character(text, [&](utf8_character c) {
        if (c.code == '\n')
            out += "\\n";
        else if (c.code == '\t')
            out += "\\t";
        else if (c.code == '"' || c.code == '\\')
            (out += '\\').push_back(static_cast<char>(c.code));
        else if (detail::is_unseen(c.code))
            out += detail::escape_of(c.code);
        else
            detail::append(out, c);
    });
    return out += '"';
}

IPYBOX_DECL std::string value_literal(nlohmann::ordered_json const& value) {
    std::string out;
    detail::append_value(out, value);
    return out;
}

IPYBOX_DECL std::string one_line(std::string_view text) {
    std::string out;
    for (char const c : detail::trimmed(text)) {
        if (!detail::is_blank(c))
            out.push_back(c);
        else if (out.back() != ' ')
            out.push_back(' ');
    }
    return out;
}

IPYBOX_DECL std::string dedented(std::string_view text) {
    auto lines = detail::lines_of(detail::trimmed(text));
    auto common = std::string::npos;
    for (std::size_t i = 1; i < lines.size(); ++i)
        if (!lines[i].empty()) common = std::min(common, lines[i].find_first_not_of(' '));
    auto out = lines.front();
    for (std::size_t i = 1; i < lines.size(); ++i) {
        out += '\n';
        if (!lines[i].empty()) out += lines[i].substr(common);
    }
    return out;
}

IPYBOX_DECL std::string docstring(std::string_view text, std::string_view indent) {
    auto const lines = detail::lines_of(dedented(text));
    std::string out = "\"\"\"";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) out += '\n';
        if (i > 0 && !lines[i].empty()) out += indent;
        out += detail::escaped_for_docstring(lines[i], lines.size() == 1);
    }
    if (lines.size() > 1) (out += '\n') += indent;
    return out += "\"\"\"";
}

} // namespace ipybox::codegen
