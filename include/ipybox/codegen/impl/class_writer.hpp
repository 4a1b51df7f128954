#pragma once

#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/schema_to_pydantic.hpp>
#include <ipybox/core/config.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen::detail {

/// The names that the text of a module uses, by the module they come from.
struct used_names {
    std::set<std::string> typing = {};
    std::set<std::string> pydantic = {};
    std::set<std::string> model = {};  ///< of `_mcp`
    std::set<std::string> schema = {}; ///< of `_schema`
};

/// Which classes a module needs, in the order in which they can be defined.
struct class_order {
    std::vector<std::size_t> classes = {};
    /// With each class those that can be rebuilt once it is there: they refer to one that came after them.
    std::vector<std::vector<std::size_t>> completed = {};
};

[[nodiscard]] class_order order_of(translation const& of);

/// Writes the classes of a translation: of arguments or of a result.
class class_writer {
  public:
    /**
     * \param kind `inputSchema` or `outputSchema`
     * \param root_name what the root is called where it is a class
     * \param prefix for a class whose name is taken
     * \param taken names of classes of the whole module; those of this translation are added
     */
    class_writer(translation const& of, std::string_view kind, std::string_view root_name, std::string_view prefix,
                 name_scope& taken);

    /// \param all names of classes of the whole module, which fields must not hide
    [[nodiscard]] std::string text(name_scope const& all, used_names& used) const;
    [[nodiscard]] std::string annotation(python_type const& type, used_names& used) const;

    /// Whether the text needs `checks_name()`: what makes checks by parts of the listed schema.
    [[nodiscard]] bool checks_by_pointer() const;
    [[nodiscard]] std::string_view kind() const { return kind_; }
    [[nodiscard]] std::string_view checks_name() const { return kind_ == "inputSchema" ? "_params" : "_result"; }

  private:
    std::string class_text(python_class const& of, std::string const& name, name_scope const& all,
                           used_names& used) const;
    std::string field_text(python_field const& field, std::string const& name, used_names& used) const;
    std::string base_of(python_type const& type, used_names& used) const;
    std::string check(schema_check const& of, used_names& used) const;

    translation const& of_;
    std::string_view kind_;
    class_order order_;
    std::vector<std::string> names_; ///< by class
};

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/class_writer.ipp>
#endif
