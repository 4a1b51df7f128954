#pragma once

#include <ipybox/core/as_utf8.hpp>
#include <ipybox/core/utf8.hpp>

#include <cstddef>
#include <string>

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

/// How the model is to call the tool.
inline constexpr auto right_call = R"(Call it with {"code": "..."}.)";

} // namespace ipybox::detail
