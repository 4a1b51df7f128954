#pragma once

#include <ipybox/codegen/schema.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace ipybox::codegen {
namespace detail {

inline bool is_schema(ordered_json const& value) { return value.is_object() || value.is_boolean(); }

inline constexpr std::string_view constraining[] = {"$dynamicRef",
                                                    "$ref",
                                                    "additionalItems",
                                                    "additionalProperties",
                                                    "allOf",
                                                    "anyOf",
                                                    "const",
                                                    "contains",
                                                    "dependencies",
                                                    "dependentRequired",
                                                    "dependentSchemas",
                                                    "enum",
                                                    "exclusiveMaximum",
                                                    "exclusiveMinimum",
                                                    "if",
                                                    "items",
                                                    "maxItems",
                                                    "maxLength",
                                                    "maxProperties",
                                                    "maximum",
                                                    "minItems",
                                                    "minLength",
                                                    "minProperties",
                                                    "minimum",
                                                    "multipleOf",
                                                    "not",
                                                    "oneOf",
                                                    "pattern",
                                                    "patternProperties",
                                                    "prefixItems",
                                                    "properties",
                                                    "propertyNames",
                                                    "required",
                                                    "type",
                                                    "unevaluatedItems",
                                                    "unevaluatedProperties",
                                                    "uniqueItems"};

/// Whether a subschema may constrain something. Looks at its own keywords alone, so that nothing is walked again and
/// again.
inline bool constrains(ordered_json const& value) {
    if (!value.is_object()) return value == false;
    for (auto it = value.begin(); it != value.end(); ++it)
        if (std::find(std::begin(constraining), std::end(constraining), it.key()) != std::end(constraining))
            return true;
    return false;
}

/// `{"type": "string"}`, which says nothing of a name.
inline bool is_plain_string(ordered_json const& value) {
    return value.is_object() && value.size() == 1 && value.contains("type") && value.front() == "string";
}

inline bool is_filled_object(ordered_json const& value) { return value.is_object() && !value.empty(); }
inline bool is_filled_array(ordered_json const& value) { return value.is_array() && !value.empty(); }

inline bool has_array_items(ordered_json const& schema) {
    auto const items = schema.find("items");
    return items != schema.end() && items->is_array();
}

/// Whether the keyword is in place and says something.
inline bool has_effect(std::string_view keyword, ordered_json const& value, ordered_json const& schema,
                       dialect version) {
    auto const is = [&](std::initializer_list<std::string_view> words) {
        return std::find(words.begin(), words.end(), keyword) != words.end();
    };
    bool const modern = version == dialect::draft_2020_12;
    if (keyword == "const") return true;
    if (keyword == "enum") return value.is_array();
    if (keyword == "multipleOf") return value.is_number() && value > 0;
    if (is({"minimum", "maximum"})) return value.is_number();
    if (keyword == "exclusiveMinimum") return value.is_number() || (value == true && schema.contains("minimum"));
    if (keyword == "exclusiveMaximum") return value.is_number() || (value == true && schema.contains("maximum"));
    if (is({"minLength", "minItems", "minProperties"})) return value.is_number() && value > 0;
    if (is({"maxLength", "maxItems", "maxProperties"})) return value.is_number();
    if (keyword == "pattern") return value.is_string();
    if (keyword == "uniqueItems") return value == true;
    if (keyword == "items") return value.is_array() || constrains(value);
    if (keyword == "additionalItems") return has_array_items(schema) && constrains(value);
    if (keyword == "prefixItems") return modern && is_filled_array(value);
    if (keyword == "contains") return is_schema(value);
    if (is({"minContains", "maxContains"})) return modern && value.is_number() && schema.contains("contains");
    if (is({"required", "allOf", "anyOf", "oneOf"})) return is_filled_array(value);
    if (is({"properties", "patternProperties"})) return is_filled_object(value);
    if (is({"dependentRequired", "dependentSchemas"})) return modern && is_filled_object(value);
    if (keyword == "dependencies") return !modern && is_filled_object(value);
    if (keyword == "additionalProperties") return constrains(value);
    if (keyword == "propertyNames") return constrains(value) && !is_plain_string(value);
    if (keyword == "not") return is_schema(value) && value != false;
    if (keyword == "if") return is_schema(value) && (schema.contains("then") || schema.contains("else"));
    if (is({"then", "else"})) return constrains(value) && schema.contains("if");
    if (keyword == "$ref") return value.is_string();
    if (keyword == "$dynamicRef") return modern && value.is_string();
    if (is({"unevaluatedProperties", "unevaluatedItems"})) return modern && is_schema(value);
    return false;
}

inline kinds kind_named(std::string_view name) {
    static constexpr std::pair<std::string_view, kinds> names[] = {
        {"null", kinds::null},     {"boolean", kinds::boolean}, {"integer", kinds::integer}, {"number", kinds::number},
        {"string", kinds::string}, {"array", kinds::array},     {"object", kinds::object}};
    for (auto const& [known, kind] : names)
        if (known == name) return kind;
    return kinds::none;
}

/// The kinds that `type` names; `unknown` becomes the first name of none.
inline kinds kinds_named(ordered_json const& type, std::string_view& unknown) {
    auto all = kinds::none;
    auto const add = [&](ordered_json const& value) {
        if (!value.is_string()) return;
        std::string_view const name = value.get_ref<std::string const&>();
        auto const kind = kind_named(name);
        if (kind == kinds::none && unknown.empty()) unknown = name;
        all = all | kind;
    };
    if (type.is_array())
        for (auto const& name : type) add(name);
    else
        add(type);
    return all;
}

inline bool has_text(ordered_json const& schema, char const* member) {
    auto const found = schema.find(member);
    return found != schema.end() && found->is_string();
}

inline int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// RFC 3986, section 2.1; a lone `%` stays.
inline std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        auto const low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (low < 0) {
            out.push_back(text[i]);
            continue;
        }
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return out;
}

inline void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

/// RFC 6901, section 3, and what would end or change a fragment.
inline void append_step(std::string& pointer, std::string_view step) {
    std::string escaped(step);
    replace_all(escaped, "~", "~0");
    replace_all(escaped, "/", "~1");
    replace_all(escaped, "%", "%25");
    (pointer += '/') += escaped;
}

/// The steps of `#/a/b`, decoded.
inline std::vector<std::string> steps_of(std::string_view pointer) {
    std::vector<std::string> steps;
    auto rest = percent_decoded(pointer.substr(std::min<std::size_t>(1, pointer.size())));
    for (std::size_t at = 0; at < rest.size();) {
        auto const end = std::min(rest.find('/', at + 1), rest.size());
        auto step = rest.substr(at + 1, end - at - 1);
        replace_all(step, "~1", "/");
        replace_all(step, "~0", "~");
        steps.push_back(std::move(step));
        at = end;
    }
    return steps;
}

inline ordered_json const* member_at(ordered_json const& value, std::string const& step) {
    if (value.is_object()) {
        auto const found = value.find(step);
        return found == value.end() ? nullptr : &*found;
    }
    std::size_t index = 0;
    auto const [end, failed] = std::from_chars(step.data(), step.data() + step.size(), index);
    bool const is_index = failed == std::errc() && end == step.data() + step.size() && (step[0] != '0' || step == "0");
    return value.is_array() && is_index && index < value.size() ? &value[index] : nullptr;
}

} // namespace detail

IPYBOX_DECL dialect dialect_of(ordered_json const& document) {
    if (!document.is_object() || !detail::has_text(document, "$schema")) return dialect::draft_2020_12;
    auto const& name = document.at("$schema").get_ref<std::string const&>();
    for (auto const* old : {"draft-04", "draft-06", "draft-07"})
        if (name.find(old) != std::string::npos) return dialect::draft_7;
    return dialect::draft_2020_12;
}

IPYBOX_DECL kinds kind_of(ordered_json const& value) {
    if (value.is_null()) return kinds::null;
    if (value.is_boolean()) return kinds::boolean;
    if (value.is_string()) return kinds::string;
    if (value.is_array()) return kinds::array;
    if (value.is_object()) return kinds::object;
    if (value.is_number_integer()) return kinds::integer;
    auto const number = value.get<double>();
    return std::trunc(number) == number ? kinds::integer : kinds::fraction;
}

IPYBOX_DECL schema_keywords::schema_keywords(ordered_json const& schema, dialect version) {
    forbids_ = schema.is_boolean() && !schema.get<bool>();
    if (!schema.is_object()) return;
    bool const alone = version == dialect::draft_7 && detail::has_text(schema, "$ref");
    for (auto it = schema.begin(); it != schema.end(); ++it) {
        if (alone && it.key() != "$ref") continue;
        if (it.key() == "type") {
            types_ = detail::kinds_named(*it, unknown_type_);
            if (types_ != kinds::none) keywords_.emplace_back("type", &*it);
        } else if (detail::has_effect(it.key(), *it, schema, version)) {
            keywords_.emplace_back(it.key(), &*it);
        }
    }
}

IPYBOX_DECL ordered_json const* schema_keywords::find(std::string_view keyword) const noexcept {
    for (auto const& [name, value] : keywords_)
        if (name == keyword) return value;
    return nullptr;
}

IPYBOX_DECL bool schema_keywords::only(std::initializer_list<std::string_view> keywords) const noexcept {
    return std::all_of(keywords_.begin(), keywords_.end(), [&](auto const& entry) {
        return std::find(keywords.begin(), keywords.end(), entry.first) != keywords.end();
    });
}

IPYBOX_DECL std::vector<std::string_view> schema_keywords::names() const {
    std::vector<std::string_view> names;
    names.reserve(keywords_.size());
    for (auto const& [name, value] : keywords_) names.push_back(name);
    return names;
}

IPYBOX_DECL std::vector<std::string> schema_keywords::required() const {
    std::vector<std::string> names;
    if (auto const* list = find("required"))
        for (auto const& name : *list)
            if (name.is_string()) names.push_back(name.get<std::string>());
    return names;
}

IPYBOX_DECL schema_node schema_node::at(std::initializer_list<std::string_view> steps) const {
    auto node = *this;
    for (auto const step : steps) {
        node.schema = &node.schema->at(std::string(step));
        detail::append_step(node.pointer, step);
    }
    return node;
}

IPYBOX_DECL schema_node schema_node::at(std::string_view keyword, std::size_t index) const {
    auto node = at({keyword});
    node.schema = &(*node.schema)[index];
    detail::append_step(node.pointer, std::to_string(index));
    return node;
}

IPYBOX_DECL std::string_view schema_node::text(char const* member) const {
    if (!schema->is_object() || !detail::has_text(*schema, member)) return {};
    return schema->find(member)->get_ref<std::string const&>();
}

IPYBOX_DECL std::optional<schema_node> schema_document::resolve(std::string_view reference) const {
    if (!reference.starts_with('#') || (reference.size() > 1 && reference[1] != '/')) return std::nullopt;
    auto node = root();
    for (auto const& step : detail::steps_of(reference)) {
        node.schema = detail::member_at(*node.schema, step);
        if (!node.schema) return std::nullopt;
        detail::append_step(node.pointer, step);
    }
    if (!detail::is_schema(*node.schema)) return std::nullopt;
    return node;
}

IPYBOX_DECL bool schema_document::needs_document(schema_node const& node) const {
    if (!node.schema->is_object()) return false;
    auto const own = keywords(node);
    if (own.has("$dynamicRef")) return true;
    if (auto const* reference = own.find("$ref")) {
        auto const& text = reference->get_ref<std::string const&>();
        if (!text.starts_with('#') || (text.size() > 1 && text[1] != '/')) return true;
        if (dialect_ == dialect::draft_7) return false;
    }
    if (node.pointer == "#") return false;
    bool const anchored = dialect_ == dialect::draft_2020_12 &&
                          (node.schema->contains("$anchor") || node.schema->contains("$dynamicAnchor"));
    return anchored || detail::has_text(*node.schema, "$id");
}

IPYBOX_DECL bool schema_document::leaves_resource(std::string_view pointer) const {
    auto const* value = &root_;
    for (auto const& step : detail::steps_of(pointer)) {
        if (value != &root_ && value->is_object() && detail::has_text(*value, "$id")) return true;
        value = detail::member_at(*value, step);
        if (!value) return false;
    }
    return false;
}

} // namespace ipybox::codegen
