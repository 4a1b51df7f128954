#pragma once

#include <ipybox/core/hex.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace ipybox {
namespace detail {

template <class Json>
void append_json_string(std::string& to, std::string_view text) {
    to.push_back('"');
    while (!text.empty()) {
        auto const good = text.substr(0, find_invalid_utf8(text));
        if (!good.empty()) {
            auto const quoted = json_text(Json(std::string(good)));
            to.append(quoted, 1, quoted.size() - 2);
            text.remove_prefix(good.size());
            continue;
        }
        auto const byte = static_cast<unsigned char>(text.front());
        to.append("\\udc").append(to_hex({&byte, 1}));
        text.remove_prefix(1);
    }
    to.push_back('"');
}

template <class Json>
void append_json_of_bytes(std::string& to, Json const& value) {
    char const* separator = "";
    if (value.is_object()) {
        to.push_back('{');
        for (auto const& [name, member] : value.items()) {
            to.append(std::exchange(separator, ","));
            append_json_string<Json>(to, name);
            to.push_back(':');
            append_json_of_bytes(to, member);
        }
        to.push_back('}');
    } else if (value.is_array()) {
        to.push_back('[');
        for (auto const& element : value) {
            to.append(std::exchange(separator, ","));
            append_json_of_bytes(to, element);
        }
        to.push_back(']');
    } else if (value.is_string()) {
        append_json_string<Json>(to, value.template get_ref<std::string const&>());
    } else {
        to.append(json_text(value));
    }
}

} // namespace detail

/**
 * \brief JSON text whose strings may be any bytes, as names of files and values of variables are.
 * \details A byte that is not UTF-8 becomes the lone surrogate by which Python's "surrogateescape" knows it, `\udc80`
 * to `\udcff`: there every byte arrives.
 * \tparam Json nlohmann::json or nlohmann::ordered_json; nested no deeper than the caller knows
 */
template <class Json>
[[nodiscard]] std::string json_of_bytes(Json const& value) {
    std::string text;
    detail::append_json_of_bytes(text, value);
    return text;
}

} // namespace ipybox
