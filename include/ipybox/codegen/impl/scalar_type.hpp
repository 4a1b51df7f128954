#pragma once

#include <ipybox/codegen/python_type.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ipybox::codegen::detail {

/**
 * \brief The type of a value that has no parts, with what Pydantic can check of it.
 * \param[out] unsaid keywords that remain to be checked
 */
[[nodiscard]] python_type scalar_type(kinds kind, schema_keywords const& own, std::vector<std::string_view>& unsaid);

/// Adds `min_length` and `max_length` for the keywords `least` and `most`, or these to what is unsaid.
void add_sizes(python_type& type, schema_keywords const& own, std::string_view least, std::string_view most,
               std::vector<std::string_view>& unsaid);

/// A number as an integer that every JSON library and pydantic-core agree about, or empty.
[[nodiscard]] std::optional<std::int64_t> exact_integer(ordered_json const& value);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/scalar_type.ipp>
#endif
