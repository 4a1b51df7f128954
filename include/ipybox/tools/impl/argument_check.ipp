#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/tools/argument_check.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

namespace ipybox::detail {

using schema_json = nlohmann::ordered_json;

// --- schemas -------------------------------------------------------------------------------------------------------------

/// The place of a part within another.
inline std::string joined(std::string const& where, std::string_view part) {
    return std::string(where).append("/").append(part);
}

/// The part of a schema that `#/…` refers to; nothing where there is none.
inline schema_json const* referred_to(schema_json const& root, std::string_view reference) {
    if (reference == "#") return &root;
    if (!reference.starts_with("#/")) return nullptr;
    try {
        schema_json::json_pointer const pointer{std::string(reference.substr(1))};
        return root.contains(pointer) ? &root.at(pointer) : nullptr;
    } catch (nlohmann::json::exception const&) { return nullptr; }
}

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
        case kind::reference:
            return value.is_string() && referred_to(root_, value.get_ref<std::string const&>())
                       ? finding()
                       : wrong(where, "this leads out of the schema");
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
};

IPYBOX_DECL std::optional<std::string> find_unchecked(nlohmann::ordered_json const& schema) {
    return schema_review(schema).of(schema, "");
}

// --- values --------------------------------------------------------------------------------------------------------------

/// A value of any size in a sentence.
inline std::string shortened(nlohmann::json const& value) {
    constexpr std::size_t longest = 60;
    // A string or a container may be large: it is not written only to be cut.
    if (value.is_structured() && value.size() > longest) return value.is_array() ? "[…]" : "{…}";
    if (value.is_string() && value.get_ref<std::string const&>().size() > longest)
        return "\"" +
               value.get_ref<std::string const&>().substr(
                   0, whole_characters(value.get_ref<std::string const&>(), longest)) +
               "…\"";
    auto text = json_text(value);
    if (text.size() > longest) text = text.substr(0, whole_characters(text, longest)) + "…";
    return text;
}

inline bool is_integer(nlohmann::json const& value) {
    if (!value.is_number_float()) return value.is_number();
    auto const number = value.get<double>();
    return std::isfinite(number) && std::trunc(number) == number;
}

/// Judges a value. References may lead in circles: what goes round without going down is given up.
class value_check {
  public:
    explicit value_check(schema_json const& root) : root_(root) {}

    /// What is wrong, and where.
    using mismatch = std::optional<std::string>;

    [[nodiscard]] mismatch of(schema_json const& schema, nlohmann::json const& value, std::string const& where) {
        if (schema.is_boolean()) return schema.get<bool>() ? mismatch() : says(where, "is not expected");
        if (depth_ > deepest) return says(where, "is nested too deeply");
        ++depth_;
        mismatch found;
        for (auto member = schema.begin(); member != schema.end() && !found; ++member)
            found = by_keyword(schema, member.key(), member.value(), value, where);
        --depth_;
        return found;
    }

  private:
    static constexpr std::size_t deepest = 2000; ///< schemas within schemas; arguments have 500 levels at most

    [[nodiscard]] bool fits(schema_json const& schema, nlohmann::json const& value) { return !of(schema, value, ""); }

    [[nodiscard]] mismatch by_keyword(schema_json const& schema, std::string const& keyword, schema_json const& rule,
                                      nlohmann::json const& value, std::string const& where) {
        if (keyword == "type") return of_type(rule, value, where);
        if (keyword == "enum") return one_of_values(rule, value, where);
        if (keyword == "const")
            return same(rule, value) ? mismatch() : says(where, "has to be " + shortened(nlohmann::json(rule)));
        if (keyword == "$ref") {
            auto const* const part = referred_to(root_, rule.get_ref<std::string const&>());
            return part ? of(*part, value, where) : mismatch();
        }
        if (keyword == "allOf") {
            for (auto const& part : rule)
                if (auto found = of(part, value, where)) return found;
            return {};
        }
        if (keyword == "anyOf" || keyword == "oneOf") return of_alternatives(keyword, rule, value, where);
        if (keyword == "not") return fits(rule, value) ? says(where, "has what it must not have") : mismatch();
        if (keyword == "if") {
            auto const branch = schema.find(fits(rule, value) ? "then" : "else");
            return branch == schema.end() ? mismatch() : of(*branch, value, where);
        }
        if (value.is_number()) return of_number(keyword, rule, value, where);
        if (value.is_string()) return of_string(keyword, rule, value, where);
        if (value.is_array()) return of_array(schema, keyword, rule, value, where);
        if (value.is_object()) return of_object(schema, keyword, rule, value, where);
        return {};
    }

    [[nodiscard]] static bool has_type(std::string_view type, nlohmann::json const& value) {
        if (type == "null") return value.is_null();
        if (type == "boolean") return value.is_boolean();
        if (type == "integer") return is_integer(value);
        if (type == "number") return value.is_number();
        if (type == "string") return value.is_string();
        if (type == "array") return value.is_array();
        return value.is_object();
    }

    [[nodiscard]] static std::string named(std::string_view type) {
        if (type == "null") return "null";
        if (type == "boolean") return "true or false";
        return (std::string_view("aeiou").find(type[0]) != std::string_view::npos ? "an " : "a ") + std::string(type);
    }

    [[nodiscard]] static mismatch of_type(schema_json const& rule, nlohmann::json const& value,
                                          std::string const& where) {
        auto const types = rule.is_array() ? rule : schema_json::array({rule});
        std::string wanted;
        for (auto const& type : types) {
            auto const& name = type.get_ref<std::string const&>();
            if (has_type(name, value)) return {};
            wanted += (wanted.empty() ? "" : " or ") + named(name);
        }
        return says(where, "has to be " + wanted + ", not " + shortened(value));
    }

    /// Numbers are compared by value.
    [[nodiscard]] static bool same(schema_json const& rule, nlohmann::json const& value) {
        if (rule.is_number() && value.is_number()) return nlohmann::json(rule) == value;
        if (rule.type() != value.type()) return false;
        return nlohmann::json(rule) == value;
    }

    [[nodiscard]] static mismatch one_of_values(schema_json const& rule, nlohmann::json const& value,
                                                std::string const& where) {
        if (std::ranges::any_of(rule, [&](auto const& each) { return same(each, value); })) return {};
        return says(where, "has to be one of " + json_text(rule) + ", not " + shortened(value));
    }

    [[nodiscard]] mismatch of_alternatives(std::string const& keyword, schema_json const& rule,
                                           nlohmann::json const& value, std::string const& where) {
        std::size_t fitting = 0;
        mismatch first;
        for (auto const& part : rule) {
            auto found = of(part, value, where);
            if (!found)
                ++fitting;
            else if (!first)
                first = std::move(found);
            if (fitting == 1 && keyword == "anyOf") return {};
        }
        if (fitting == 1) return {};
        if (fitting > 1) return says(where, "fits more than one of its alternatives");
        if (rule.size() == 1) return first;
        return says(where, "fits none of its alternatives; the first: " + first.value_or(""));
    }

    /// Integers exactly: nlohmann/json takes large ones for negative ones.
    [[nodiscard]] static int compared(nlohmann::json const& value, schema_json const& bound) {
        auto const order = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
        bool const exact = value.is_number_integer() && bound.is_number_integer();
        if (!exact) return order(value.get<double>(), bound.get<double>());
        bool const below = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
        bool const bound_below = !bound.is_number_unsigned() && bound.get<std::int64_t>() < 0;
        if (below != bound_below) return below ? -1 : 1;
        return below ? order(value.get<std::int64_t>(), bound.get<std::int64_t>())
                     : order(value.get<std::uint64_t>(), bound.get<std::uint64_t>());
    }

    [[nodiscard]] static mismatch of_number(std::string const& keyword, schema_json const& rule,
                                            nlohmann::json const& value, std::string const& where) {
        auto const wants = [&](std::string const& what) {
            return says(where, "has to be " + what + " " + json_text(rule));
        };
        if (keyword == "minimum" && compared(value, rule) < 0) return wants("at least");
        if (keyword == "maximum" && compared(value, rule) > 0) return wants("at most");
        if (keyword == "exclusiveMinimum" && compared(value, rule) <= 0) return wants("more than");
        if (keyword == "exclusiveMaximum" && compared(value, rule) >= 0) return wants("less than");
        if (keyword == "multipleOf" && !is_multiple(value, rule)) return wants("a multiple of");
        return {};
    }

    [[nodiscard]] static bool is_multiple(nlohmann::json const& value, schema_json const& rule) {
        if (value.is_number_integer() && rule.is_number_integer() && rule != 0) {
            if (value.is_number_unsigned() && rule.is_number_unsigned())
                return value.get<std::uint64_t>() % rule.get<std::uint64_t>() == 0;
            if (rule.get<std::int64_t>() == -1) return true;
            return value.get<std::int64_t>() % rule.get<std::int64_t>() == 0;
        }
        auto const times = value.get<double>() / rule.get<double>();
        return std::isfinite(times) && std::abs(times - std::round(times)) < 1e-9;
    }

    [[nodiscard]] static mismatch of_string(std::string const& keyword, schema_json const& rule,
                                            nlohmann::json const& value, std::string const& where) {
        if (keyword != "minLength" && keyword != "maxLength") return {};
        auto const length = count_characters(value.get_ref<std::string const&>());
        auto const bound = rule.get<std::size_t>();
        if (keyword == "minLength" && length < bound)
            return says(where, "has to have at least " + std::to_string(bound) + " characters");
        if (keyword == "maxLength" && length > bound)
            return says(where, "has to have at most " + std::to_string(bound) + " characters");
        return {};
    }

    [[nodiscard]] mismatch of_array(schema_json const& schema, std::string const& keyword, schema_json const& rule,
                                    nlohmann::json const& value, std::string const& where) {
        auto const at = [&](std::size_t i) { return joined(where, std::to_string(i)); };
        auto const size = value.size();
        if (keyword == "minItems" && size < rule.get<std::size_t>())
            return says(where, "has to have at least " + json_text(rule) + " items");
        if (keyword == "maxItems" && size > rule.get<std::size_t>())
            return says(where, "has to have at most " + json_text(rule) + " items");
        if (keyword == "prefixItems")
            for (std::size_t i = 0; i < std::min(size, rule.size()); ++i)
                if (auto found = of(rule[i], value[i], at(i))) return found;
        if (keyword == "items") {
            auto const prefix = schema.find("prefixItems");
            for (std::size_t i = prefix == schema.end() ? 0 : prefix->size(); i < size; ++i)
                if (auto found = of(rule, value[i], at(i))) return found;
        }
        if (keyword == "uniqueItems" && rule.get<bool>() &&
            std::set<nlohmann::json>(value.begin(), value.end()).size() != size)
            return says(where, "has an item twice");
        if (keyword == "contains") return of_contained(schema, rule, value, where);
        return {};
    }

    [[nodiscard]] mismatch of_contained(schema_json const& schema, schema_json const& rule, nlohmann::json const& value,
                                        std::string const& where) {
        auto const count =
            static_cast<std::size_t>(std::ranges::count_if(value, [&](auto const& item) { return fits(rule, item); }));
        auto const least = schema.value("minContains", std::size_t(1));
        if (count < least) return says(where, "has too few of the items that it has to contain");
        if (auto const most = schema.find("maxContains"); most != schema.end() && count > most->get<std::size_t>())
            return says(where, "has too many of the items that it has to contain");
        return {};
    }

    [[nodiscard]] mismatch of_object(schema_json const& schema, std::string const& keyword, schema_json const& rule,
                                     nlohmann::json const& value, std::string const& where) {
        auto const at = [&](std::string const& name) { return where.empty() ? name : joined(where, name); };
        if (keyword == "required") return lacking(rule, value, where);
        if (keyword == "properties") {
            for (auto const& [name, part] : rule.items())
                if (auto const member = value.find(name); member != value.end())
                    if (auto found = of(part, *member, at(name))) return found;
        }
        if (keyword == "additionalProperties") {
            auto const declared = schema.find("properties");
            for (auto const& [name, member] : value.items()) {
                if (declared != schema.end() && declared->contains(name)) continue;
                if (auto found = of(rule, member, at(name))) return found;
            }
        }
        if (keyword == "propertyNames")
            for (auto const& [name, member] : value.items())
                if (auto found = of(rule, name, at(name))) return found;
        if (keyword == "minProperties" && value.size() < rule.get<std::size_t>())
            return says(where, "has to have at least " + json_text(rule) + " members");
        if (keyword == "maxProperties" && value.size() > rule.get<std::size_t>())
            return says(where, "has to have at most " + json_text(rule) + " members");
        if (keyword == "dependentRequired" || keyword == "dependentSchemas")
            for (auto const& [name, part] : rule.items()) {
                if (!value.contains(name)) continue;
                if (auto found = keyword == "dependentSchemas" ? of(part, value, where) : lacking(part, value, where))
                    return found;
            }
        return {};
    }

    [[nodiscard]] static mismatch lacking(schema_json const& names, nlohmann::json const& value,
                                          std::string const& where) {
        for (auto const& name : names)
            if (!value.contains(name.get_ref<std::string const&>()))
                return says(where, "lacks " + name.get<std::string>());
        return {};
    }

    [[nodiscard]] static mismatch says(std::string const& where, std::string const& what) {
        return (where.empty() ? "the value" : where.starts_with('/') ? where.substr(1) : where) + " " + what;
    }

    schema_json const& root_;
    std::size_t depth_ = 0;
};

IPYBOX_DECL std::optional<std::string> find_mismatch(nlohmann::ordered_json const& schema,
                                                     nlohmann::json const& value) {
    return value_check(schema).of(schema, value, "");
}

} // namespace ipybox::detail
