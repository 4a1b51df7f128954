#pragma once

#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <optional>
#include <string>

namespace ipybox::codegen::detail {

/**
 * \brief The arguments of `Schema(…)` for a schema, if it may be written where it is used.
 * \param schema `false`, or an object of keywords of JSON Schema
 * \return empty where it is long, has references or identifiers, or keywords that mean something in the other dialect
 * alone
 */
[[nodiscard]] std::optional<std::string> inline_arguments(ordered_json const& schema, dialect version);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/inline_schema.ipp>
#endif
