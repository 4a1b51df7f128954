#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/impl/json_order.hpp>
#include <ipybox/mcp/impl/schema_reference.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::detail {

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

/// Judges a value. References may lead in circles: what goes round without going down is given up.
class value_check {
  public:
    value_check(schema_json const& root, check_budget& budget) : root_(root), budget_(budget) {}

    /// The mistake, and its place.
    using mismatch = std::optional<std::string>;

    [[nodiscard]] mismatch of(schema_json const& schema, nlohmann::json const& value, std::string const& where) {
        if (schema.is_boolean()) return schema.get<bool>() ? mismatch() : says(where, "is not expected");
        budget_.step();
        // Not as a mismatch: what is below `not` would fit then.
        if (depth_ > deepest) throw check_stopped("the value is nested too deeply");
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
            return is_same_value(rule, value) ? mismatch()
                                              : says(where, "has to be " + shortened(nlohmann::json(rule)));
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

    [[nodiscard]] static mismatch one_of_values(schema_json const& rule, nlohmann::json const& value,
                                                std::string const& where) {
        if (std::ranges::any_of(rule, [&](auto const& each) { return is_same_value(each, value); })) return {};
        return says(where, "has to be one of " + json_text(rule) + ", not " + shortened(value));
    }

    [[nodiscard]] mismatch of_alternatives(std::string const& keyword, schema_json const& rule,
                                           nlohmann::json const& value, std::string const& where) {
        static constexpr std::size_t most_told = 4;
        std::size_t fitting = 0;
        std::vector<std::string> complaints;
        for (auto const& part : rule) {
            auto found = of(part, value, where);
            if (!found)
                ++fitting;
            else if (std::ranges::find(complaints, *found) == complaints.end())
                complaints.push_back(*std::move(found));
            if (fitting == 1 && keyword == "anyOf") return {};
        }
        if (fitting == 1) return {};
        if (fitting > 1) return says(where, "fits more than one of its alternatives");
        if (complaints.size() == 1) return complaints.front();
        std::string all;
        for (std::size_t i = 0; i < std::min(complaints.size(), most_told); ++i)
            all.append(i == 0 ? "" : "; or ").append(complaints[i]);
        return says(where, "fits none of its " + std::to_string(rule.size()) + " alternatives: " + all);
    }

    [[nodiscard]] static mismatch of_number(std::string const& keyword, schema_json const& rule,
                                            nlohmann::json const& value, std::string const& where) {
        auto const wants = [&](std::string const& what) {
            return says(where, "has to be " + what + " " + json_text(rule));
        };
        if (keyword == "minimum" && order_numbers(value, rule) < 0) return wants("at least");
        if (keyword == "maximum" && order_numbers(value, rule) > 0) return wants("at most");
        if (keyword == "exclusiveMinimum" && order_numbers(value, rule) <= 0) return wants("more than");
        if (keyword == "exclusiveMaximum" && order_numbers(value, rule) >= 0) return wants("less than");
        if (keyword == "multipleOf" && !is_multiple(value, rule)) return wants("a multiple of");
        return {};
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
        if (keyword == "uniqueItems" && rule.get<bool>() && has_value_twice(value))
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
        if (keyword == "required") {
            auto found = lacking(rule, value, where);
            return found ? *found + undeclared(schema, value) : found;
        }
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
                return says(where + "/" + name.get<std::string>(), "is missing");
        return {};
    }

    /// If a member is missing, one that the schema does not name is perhaps the same one, misspelt.
    [[nodiscard]] static std::string undeclared(schema_json const& schema, nlohmann::json const& value) {
        auto const declared = schema.find("properties");
        if (declared == schema.end() || schema.contains("patternProperties")) return {};
        for (auto const& [name, member] : value.items())
            if (!declared->contains(name)) return ", and " + shortened(name) + " is not known";
        return {};
    }

    [[nodiscard]] static mismatch says(std::string const& where, std::string const& what) {
        return (where.empty() ? "the value" : where.starts_with('/') ? where.substr(1) : where) + " " + what;
    }

    schema_json const& root_;
    check_budget& budget_;
    std::size_t depth_ = 0;
};

} // namespace ipybox::detail
