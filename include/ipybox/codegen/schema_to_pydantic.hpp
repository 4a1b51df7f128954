#pragma once

#include <ipybox/codegen/python_type.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <string>
#include <vector>

namespace ipybox::codegen {

/// The types of Python that stand for a schema.
struct translation {
    python_classes classes;
    python_type root;
    std::vector<std::string> warnings;
};

/**
 * \brief The arguments of a tool: `root` is always a class, `Params`.
 * \details Exact: what Pydantic's types cannot say is added as a check, so that the class accepts what the schema
 * accepts and nothing else.
 */
[[nodiscard]] translation translate_arguments(schema_document const& document);

/// The result of a tool: any type; a class is called `Result`. A field that may be missing may also be null. One that
/// is wrapped is what is in it.
[[nodiscard]] translation translate_result(schema_document const& document);

/// Whether the schema of a result is that of a value which its server has put into an object, as `result`: structured
/// content had to be an object before 2026-07-28, and FastMCP says with `x-fastmcp-wrap-result` that it is none.
[[nodiscard]] bool is_wrapped(ordered_json const& output_schema);

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/schema_to_pydantic.ipp>
#endif
