#pragma once

#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

namespace ipybox::codegen::detail {

/// Whether a default is what its own schema asks for, as far as types, values, sizes and bounds go. Servers publish
/// others.
[[nodiscard]] bool fits(ordered_json const& value, schema_document const& document, schema_node const& node);

/// Whether it can stand behind a field: a value without objects in it.
[[nodiscard]] bool is_plain(ordered_json const& value);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/default_value.ipp>
#endif
