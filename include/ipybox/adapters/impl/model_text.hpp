#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace ipybox::detail {

/// The beginning and the end of a text, and how much is left out between them.
inline std::string without_middle(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    auto const head = whole_characters(text, most / 2);
    auto tail = text.size() - most / 2;
    while (tail < text.size() && continues_character(text[tail])) ++tail;
    return text.substr(0, head) + "\n[... " + std::to_string(tail - head) + " bytes left out ...]\n" +
           text.substr(tail);
}

/// Text that can be put into JSON: what is no UTF-8 is replaced by U+FFFD.
inline std::string as_utf8(std::string text) {
    if (is_utf8(text)) return text;
    return parse_json(json_text(nlohmann::json(std::move(text)))).get<std::string>();
}

/// How the model is to call the tool.
inline constexpr auto right_call = R"(Call it with {"code": "..."}.)";

} // namespace ipybox::detail
