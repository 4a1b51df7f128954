#pragma once

#include <ipybox/codegen/schema.hpp>
#include <ipybox/core/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/** \file
 * Annotations and classes of Python as values: what a schema becomes before it is text.
 */

namespace ipybox::codegen {

/// A check of JSON Schema that types do not express.
struct schema_check {
    std::string arguments; ///< of `Schema(…)`; empty: the part of the listed schema that `pointer` names
    std::string pointer;

    friend bool operator==(schema_check const&, schema_check const&) = default;
};

/// An annotation.
struct python_type {
    enum class form {
        any,     ///< Any
        scalar,  ///< `word`: str, bool, int, int | float, None
        literal, ///< Literal of `values`
        list,    ///< of parts[0]
        map,     ///< dict of str and parts[0]
        tuple,   ///< of all parts
        object,  ///< the class `model`
        choice   ///< one of the parts
    };

    form is = form::any;
    kinds accepts = kinds::any;
    std::string word = {};
    std::vector<ordered_json> values = {};
    std::vector<python_type> parts = {};
    std::size_t model = 0;                     ///< index of the class
    std::vector<std::string> constraints = {}; ///< arguments of Field: `ge=1`
    std::vector<schema_check> checks = {};

    /// Anything at all is accepted.
    [[nodiscard]] bool accepts_all() const { return is == form::any && checks.empty(); }
    /// How much text it makes: nodes of the tree.
    [[nodiscard]] std::size_t size() const;

    [[nodiscard]] static python_type scalar(std::string word, kinds accepts);
    [[nodiscard]] static python_type of_class(std::size_t model);
};

/// A field of a class.
struct python_field {
    std::string property; ///< its name in JSON
    python_type type;
    bool required = false;
    std::optional<ordered_json> shown_default = {}; ///< what stands behind `=`; never sent
    std::string doc = {};
};

/// The members that an object may have beside its fields.
enum class extra_members {
    allowed, ///< the schema does not say: those that come are told
    welcome, ///< it says that there are some
    forbidden,
    typed
};

/// A class of a generated module.
struct python_class {
    std::string wanted_name;
    std::string doc = {};
    std::vector<python_field> fields = {};
    extra_members extra = extra_members::allowed;
    python_type extra_type = {};
    std::vector<schema_check> rules = {};
};

/// The classes of a module, and whether what may be missing may also be null in them (as in results).
struct python_classes {
    std::vector<python_class> list = {};
    bool lenient = false;
};

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/python_type.ipp>
#endif
