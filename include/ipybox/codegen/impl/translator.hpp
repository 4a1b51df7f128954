#pragma once

#include <ipybox/codegen/impl/object_members.hpp>
#include <ipybox/codegen/python_type.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/codegen/schema_to_pydantic.hpp>
#include <ipybox/core/config.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen::detail {

/// Walks a schema once. A place in it has one type, however often it is referred to.
class translator {
  public:
    explicit translator(schema_document const& document) : document_(document) {}

    [[nodiscard]] python_type arguments();
    [[nodiscard]] python_type result();
    [[nodiscard]] translation finish(python_type root) &&;

  private:
    using names = std::vector<std::string_view>;

    // The type of a place; `name` is the name that a class there would have.
    python_type type_of(schema_node const& node, std::string const& name);
    void warn_of_types(schema_node const& node, schema_keywords const& own);
    python_type translate(schema_node const& node, schema_keywords const& own, std::string const& name);
    python_type reference(schema_node const& node, schema_keywords const& own);
    python_type values(schema_node const& node, schema_keywords const& own);
    python_type alternatives(schema_node const& node, std::string_view keyword, std::string const& name);
    python_type typed(schema_node const& node, schema_keywords const& own, std::string const& name);
    python_type of_kind(kinds kind, schema_node const& node, schema_keywords const& own, std::string const& name);
    python_type array(schema_node const& node, schema_keywords const& own, std::string const& name);
    python_type object(schema_node const& node, schema_keywords const& own, std::string const& name);
    python_type map(schema_node const& node, schema_keywords const& own, std::string const& name);

    // Classes.
    python_type object_class(schema_node const& node, schema_keywords const& own, object_members const& members,
                             std::string const& name);
    python_field field(std::string const& property, schema_node const& node, bool required);
    [[nodiscard]] std::vector<schema_check> rules(schema_node const& node, schema_keywords const& own,
                                                  object_members const& members) const;

    /// A check of a part of a schema: written out, or else of the whole node in the listed schema.
    [[nodiscard]] schema_check check_of(schema_node const& node, ordered_json const& part) const;
    void add_check(python_type& type, schema_node const& node, schema_keywords const& own, names const& listed) const;

    schema_document const& document_;
    python_classes classes_;
    std::vector<std::string> warnings_;
    std::map<std::string, python_type> known_; ///< by pointer
    std::set<std::string> open_;               ///< pointers on the way down
    std::map<std::string, std::size_t> alike_; ///< classes by what their schemas say
};

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/translator.ipp>
#endif
