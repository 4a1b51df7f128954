#pragma once

#include <ipybox/core/config.hpp>

#include <string>

namespace ipybox {

/**
 * \brief JSON text in UTF-8 whatever is in the value: what is no UTF-8 is replaced by U+FFFD.
 * \details Text of users, kernels and servers must not make writing throw.
 * \tparam Json nlohmann::json or nlohmann::ordered_json
 * \param indent blanks for each level, every member on a line of its own; -1: all in one line
 */
template <class Json>
[[nodiscard]] std::string json_text(Json const& value, int indent = -1) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace ipybox
