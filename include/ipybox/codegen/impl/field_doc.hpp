#pragma once

#include <ipybox/codegen/python_type.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <string>

namespace ipybox::codegen::detail {

/// The description of a field in the schema, for readers, on one line. The descriptions that its classes have
/// themselves are left out.
[[nodiscard]] std::string field_doc(schema_document const& document, schema_node const& node,
                                    python_field const& field);

/// The description of a class: its description.
[[nodiscard]] std::string class_doc(schema_node const& node);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/field_doc.ipp>
#endif
