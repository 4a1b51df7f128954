#pragma once

#include <ipybox/codegen/python_type.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <string>

namespace ipybox::codegen::detail {

/// What the schema says about a field for those who read, on one line. What its classes say themselves is left out.
[[nodiscard]] std::string field_doc(schema_document const& document, schema_node const& node,
                                    python_field const& field);

/// What it says about a class: its description.
[[nodiscard]] std::string class_doc(schema_node const& node);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/field_doc.ipp>
#endif
