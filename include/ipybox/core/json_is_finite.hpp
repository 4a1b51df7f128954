#pragma once

#include <ipybox/core/config.hpp>

#include <algorithm>
#include <cmath>

namespace ipybox {

/**
 * \brief Whether all numbers of a value are finite, as JSON has no others.
 * \details By recursion: the depth of the value has to be bounded (`nests_deeper_than`).
 * \tparam Json nlohmann::json or nlohmann::ordered_json
 */
template <class Json>
[[nodiscard]] bool json_is_finite(Json const& value) {
    if (value.is_structured()) return std::ranges::all_of(value, [](Json const& part) { return json_is_finite(part); });
    return !value.is_number_float() || std::isfinite(value.template get<double>());
}

} // namespace ipybox
