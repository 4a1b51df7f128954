#pragma once

#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <compare>

namespace ipybox::detail {

/**
 * \brief How two numbers compare by value, whatever they are stored as.
 * \details nlohmann/json converts before it compares: there, 18446744073709551615 equals -1, and 2^53 + 1
 * equals 2.0^53.
 */
[[nodiscard]] std::partial_ordering compare_numbers(nlohmann::json const& a, nlohmann::json const& b);

/// Equality by value: types agree, numbers as above.
[[nodiscard]] bool same_json(nlohmann::json const& a, nlohmann::json const& b);

/// The same; the order of members does not count.
[[nodiscard]] bool same_json(nlohmann::ordered_json const& a, nlohmann::ordered_json const& b);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/same_json.ipp>
#endif
