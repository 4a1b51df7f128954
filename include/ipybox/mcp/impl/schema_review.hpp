#pragma once

#include <ipybox/mcp/impl/schema_reference.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// Looks for what is not checked here.
class schema_review {
  public:
    using finding = std::optional<std::string>;

    explicit schema_review(schema_json const& root) : root_(root) {}

    [[nodiscard]] finding of(schema_json const& schema, std::string const& where) {
        if (schema.is_boolean()) return {};
        if (!schema.is_object()) return wrong(where, "a schema has to be an object, true or false");
        for (auto const& [keyword, value] : schema.items()) {
            auto found = look_at(keyword, value, joined(where, keyword));
            if (found) return found;
        }
        return {};
    }

  private:
    enum class kind {
        annotation,
        number,
        count,
        flag,
        schema,
        schemas,
        named_schemas,
        names,
        named_names,
        reference,
        type,
        any,
        list
    };

    struct known_keyword {
        std::string_view name;
        kind value;
    };

    static constexpr std::array known{
        known_keyword{"type", kind::type},
        known_keyword{"enum", kind::list},
        known_keyword{"const", kind::any},
        known_keyword{"properties", kind::named_schemas},
        known_keyword{"required", kind::names},
        known_keyword{"additionalProperties", kind::schema},
        known_keyword{"propertyNames", kind::schema},
        known_keyword{"minProperties", kind::count},
        known_keyword{"maxProperties", kind::count},
        known_keyword{"dependentRequired", kind::named_names},
        known_keyword{"dependentSchemas", kind::named_schemas},
        known_keyword{"prefixItems", kind::schemas},
        known_keyword{"items", kind::schema},
        known_keyword{"contains", kind::schema},
        known_keyword{"minContains", kind::count},
        known_keyword{"maxContains", kind::count},
        known_keyword{"minItems", kind::count},
        known_keyword{"maxItems", kind::count},
        known_keyword{"uniqueItems", kind::flag},
        known_keyword{"minLength", kind::count},
        known_keyword{"maxLength", kind::count},
        known_keyword{"minimum", kind::number},
        known_keyword{"maximum", kind::number},
        known_keyword{"exclusiveMinimum", kind::number},
        known_keyword{"exclusiveMaximum", kind::number},
        known_keyword{"multipleOf", kind::number},
        known_keyword{"anyOf", kind::schemas},
        known_keyword{"oneOf", kind::schemas},
        known_keyword{"allOf", kind::schemas},
        known_keyword{"not", kind::schema},
        known_keyword{"if", kind::schema},
        known_keyword{"then", kind::schema},
        known_keyword{"else", kind::schema},
        known_keyword{"$defs", kind::named_schemas},
        known_keyword{"definitions", kind::named_schemas},
        known_keyword{"$ref", kind::reference},
        known_keyword{"title", kind::annotation},
        known_keyword{"description", kind::annotation},
        known_keyword{"default", kind::annotation},
        known_keyword{"examples", kind::annotation},
        known_keyword{"deprecated", kind::annotation},
        known_keyword{"readOnly", kind::annotation},
        known_keyword{"writeOnly", kind::annotation},
        known_keyword{"format", kind::annotation},
        known_keyword{"$comment", kind::annotation},
        known_keyword{"$schema", kind::annotation},
        known_keyword{"contentMediaType", kind::annotation},
        known_keyword{"contentEncoding", kind::annotation},
    };

    [[nodiscard]] finding look_at(std::string const& keyword, schema_json const& value, std::string const& where) {
        auto const found = std::ranges::find(known, keyword, &known_keyword::name);
        if (found == known.end())
            return wrong(where, "this keyword is not checked on the host: leave it out, and check in the function");
        switch (found->value) {
        case kind::annotation:
        case kind::any: return {};
        case kind::number: return value.is_number() ? finding() : wrong(where, "this has to be a number");
        case kind::count:
            return value.is_number_integer() && value >= 0 ? finding()
                                                           : wrong(where, "this has to be a number of things");
        case kind::flag: return value.is_boolean() ? finding() : wrong(where, "this has to be true or false");
        case kind::list: return value.is_array() ? finding() : wrong(where, "this has to be an array");
        case kind::names: return is_names(value) ? finding() : wrong(where, "this has to be an array of names");
        case kind::type: return is_type(value) ? finding() : wrong(where, "there is no such type");
        case kind::schema: return of(value, where);
        case kind::reference: return of_reference(value, where);
        case kind::schemas:
            if (!value.is_array()) return wrong(where, "this has to be an array of schemas");
            break;
        case kind::named_schemas:
        case kind::named_names:
            if (!value.is_object()) return wrong(where, "this has to be an object");
            break;
        }
        for (auto const& [name, part] : value.items()) {
            if (found->value == kind::named_names) {
                if (!is_names(part)) return wrong(where, "this has to have arrays of names");
            } else if (auto below = of(part, joined(where, name))) {
                return below;
            }
        }
        return {};
    }

    /// It may lead to what is no schema where it stands: to an example, say.
    [[nodiscard]] finding of_reference(schema_json const& value, std::string const& where) {
        auto const* const part = value.is_string() ? referred_to(root_, value.get_ref<std::string const&>()) : nullptr;
        if (!part) return wrong(where, "this leads out of the schema");
        return followed_.insert(part).second ? of(*part, where) : finding();
    }

    [[nodiscard]] static bool is_names(schema_json const& value) {
        return value.is_array() && std::ranges::all_of(value, [](auto const& name) { return name.is_string(); });
    }

    [[nodiscard]] static bool is_type(schema_json const& value) {
        static constexpr std::array<std::string_view, 7> types{"null",   "boolean", "integer", "number",
                                                               "string", "array",   "object"};
        if (value.is_array()) return !value.empty() && std::ranges::all_of(value, is_type);
        return value.is_string() && std::ranges::find(types, value.get_ref<std::string const&>()) != types.end();
    }

    [[nodiscard]] static finding wrong(std::string const& where, std::string const& what) {
        return "the schema, at #" + where + ": " + what;
    }

    schema_json const& root_;
    std::set<schema_json const*> followed_; ///< what references lead to; they may lead in circles
};

} // namespace ipybox::detail
