#pragma once

#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::codegen::detail {

/// The properties of an object and where their schemas are.
struct object_members {
    std::vector<std::pair<std::string, schema_node>> properties = {};
    std::vector<std::string> required = {};

    [[nodiscard]] bool has(std::string const& property) const;
    [[nodiscard]] bool requires_property(std::string const& property) const;
};

/// The node itself or, where it is nothing but a reference within the document, what that names.
[[nodiscard]] schema_node followed(schema_document const& document, schema_node node);

/// The content of `properties` and `required` of a node.
[[nodiscard]] object_members members_of(schema_document const& document, schema_node const& node);

/**
 * \brief The members of an object that is put together with `allOf`.
 * \return empty where one set of members would not say the same: members that are closed, that say something else, or
 * that differ about a property
 */
[[nodiscard]] std::optional<object_members> merged_members(schema_document const& document, schema_node const& node);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/object_members.ipp>
#endif
