#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/tools/tool_value.hpp>

#include <stdexcept>
#include <string>

namespace ipybox::detail {

IPYBOX_DECL std::string json_text_of(std::string text, char const* what) {
    if (!is_utf8(text)) throw std::invalid_argument(std::string(what) + " that is not UTF-8: " + text);
    return text;
}

} // namespace ipybox::detail
