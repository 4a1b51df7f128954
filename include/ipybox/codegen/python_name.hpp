#pragma once

#include <ipybox/core/result.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * Names of Python for names of strangers. Every identifier of generated code comes from here: letters, digits and
 * underscores of ASCII.
 */

namespace ipybox::codegen {

/// Names that are taken, by which new ones are told apart.
class name_scope {
  public:
    [[nodiscard]] bool has(std::string_view name) const { return names_.contains(name); }

    /// Takes the name, or else the first of `name` + separator + 2, 3, … that is free.
    std::string take(std::string name, std::string_view separator);

  private:
    std::set<std::string, std::less<>> names_;
};

/// Whether the text is a keyword of Python, one of `match`, `case`, `type` and `_` excepted.
[[nodiscard]] bool is_python_keyword(std::string_view text) noexcept;

/**
 * \brief Checks what a package is to be called: an ASCII identifier that begins with a letter.
 * \par Errors errc::invalid_argument — anything else: the name becomes a directory and a module
 */
[[nodiscard]] result<void> check_package_name(std::string_view name);

/// Whether a package of this name would hide a module of Python's standard library where its directory is importable by
/// itself.
[[nodiscard]] bool is_standard_module(std::string_view name) noexcept;

/**
 * \brief Names of fields for properties, in their order.
 * \param classes names of classes of the same module, which a field must not hide
 * \details A property that can be a field keeps its name.
 */
[[nodiscard]] std::vector<std::string> field_names(std::vector<std::string> const& properties,
                                                   name_scope const& classes);

/// `per-page` and `perPage` are `PerPage`; never empty, never of another alphabet.
[[nodiscard]] std::string class_name(std::string_view text);

/// The name of one thing of many: `entries` is `entry`. With `Item` at its end where English does not say.
[[nodiscard]] std::string singular(std::string_view plural);

/// Names that no class of a generated module can have.
[[nodiscard]] name_scope reserved_class_names();

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/python_name.ipp>
#endif
