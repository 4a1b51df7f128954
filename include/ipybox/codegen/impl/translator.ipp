#pragma once

#include <ipybox/codegen/impl/choice.hpp>
#include <ipybox/codegen/impl/class_names.hpp>
#include <ipybox/codegen/impl/default_value.hpp>
#include <ipybox/codegen/impl/field_doc.hpp>
#include <ipybox/codegen/impl/inline_schema.hpp>
#include <ipybox/codegen/impl/scalar_type.hpp>
#include <ipybox/codegen/impl/translator.hpp>
#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/core/json_text.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ipybox::codegen::detail {

inline constexpr std::size_t deepest_schema = 64;
inline constexpr std::size_t largest_type = 200; ///< parts; a longer annotation is of no use to a reader
inline constexpr std::size_t most_classes = 2000;

inline constexpr std::string_view generic_keywords[] = {"allOf", "anyOf", "oneOf", "not",  "if",
                                                        "then",  "else",  "enum",  "const"};

inline bool is_generic(std::string_view keyword) {
    return std::find(std::begin(generic_keywords), std::end(generic_keywords), keyword) != std::end(generic_keywords);
}

inline ordered_json part_of(schema_keywords const& own, std::vector<std::string_view> const& listed) {
    auto part = ordered_json::object();
    for (auto const keyword : listed)
        if (auto const* value = own.find(keyword)) part[std::string(keyword)] = *value;
    return part;
}

/// Anything that passes the check of a whole node.
inline python_type checked(schema_node const& node) {
    python_type type;
    type.checks.push_back({{}, node.pointer});
    return type;
}

// --- The roots.

IPYBOX_DECL python_type translator::arguments() {
    auto const root = document_.root();
    auto const target = followed(document_, root);
    auto const own = document_.keywords(target);
    warn_of_types(root, own);
    auto const merged = own.has("allOf") ? merged_members(document_, target) : std::nullopt;
    open_.insert(root.pointer);
    auto type = object_class(target, own, merged ? *merged : members_of(document_, target), "Params");
    known_[root.pointer] = type;
    return type;
}

IPYBOX_DECL python_type translator::result() {
    auto const root = document_.root();
    return type_of(is_wrapped(*root.schema) ? root.at({"properties", "result"}) : root, "Result");
}

IPYBOX_DECL translation translator::finish(python_type root) && {
    return {std::move(classes_), std::move(root), std::move(warnings_)};
}

// --- Any node.

IPYBOX_DECL python_type translator::type_of(schema_node const& node, std::string const& name) {
    if (auto const known = known_.find(node.pointer); known != known_.end()) return known->second;
    // a type that is made of itself, where there is no class that could be named
    if (open_.size() > deepest_schema || !open_.insert(node.pointer).second) return checked(node);
    auto const own = document_.keywords(node);
    warn_of_types(node, own);
    auto type = translate(node, own, name);
    open_.erase(node.pointer);
    if (type.size() > largest_type) type = checked(node);
    return known_[node.pointer] = std::move(type);
}

IPYBOX_DECL void translator::warn_of_types(schema_node const& node, schema_keywords const& own) {
    if (own.unknown_type().empty()) return;
    warnings_.push_back("type " + one_line(own.unknown_type().substr(0, 200)) + " at " + one_line(node.pointer) +
                        " is none of JSON Schema: it is left out");
}

IPYBOX_DECL python_type translator::translate(schema_node const& node, schema_keywords const& own,
                                              std::string const& name) {
    if (own.empty()) return {};
    auto const* negated = own.find("not");
    if (own.forbids() ||
        (negated && own.only({"not", "type"}) && schema_keywords(*negated, document_.version()).empty())) {
        python_type never;
        never.accepts = kinds::none;
        never.checks.push_back({"False", {}});
        return never;
    }
    if (document_.needs_document(node)) return checked(node);
    if (own.has("unevaluatedProperties") || own.has("unevaluatedItems"))
        return own.types() == kinds::object ? object(node, own, name) : checked(node);
    if (own.has("$ref")) return reference(node, own);
    if (own.has("enum") || own.has("const")) return values(node, own);
    if (auto const* parts = own.find("allOf")) {
        if (parts->size() == 1 && own.only({"allOf"})) return type_of(node.at("allOf", 0), name);
        if (auto const merged = merged_members(document_, node)) return object_class(node, own, *merged, name);
    }
    for (auto const* keyword : {"anyOf", "oneOf"}) {
        auto const* members = own.find(keyword);
        if (!members || !own.only({keyword, "type"})) continue;
        // a type beside them adds nothing where every member states one of its own within it
        bool const stated = std::all_of(members->begin(), members->end(), [&](auto const& member) {
            auto const types = schema_keywords(member, document_.version()).types();
            return types != kinds::none && includes(own.types(), types);
        });
        if (stated || !own.has("type")) return alternatives(node, keyword, name);
    }
    return own.types() == kinds::none ? checked(node) : typed(node, own, name);
}

IPYBOX_DECL python_type translator::reference(schema_node const& node, schema_keywords const& own) {
    auto const& text = own.find("$ref")->get_ref<std::string const&>();
    auto const target = document_.resolve(text);
    python_type type;
    if (!target)
        warnings_.push_back("$ref " + one_line(text.substr(0, 200)) +
                            " names nothing in the schema: anything is accepted there");
    else if (document_.leaves_resource(target->pointer))
        return checked(node);
    else
        type = type_of(*target, name_of_target(target->pointer));
    names beside;
    for (auto const keyword : own.names())
        if (keyword != "$ref" && !(keyword == "type" && includes(own.types(), type.accepts))) beside.push_back(keyword);
    add_check(type, node, own, beside);
    return type;
}

IPYBOX_DECL python_type translator::values(schema_node const& node, schema_keywords const& own) {
    auto const* constant = own.find("const");
    auto const* choices = own.find("enum");
    names beside;
    for (auto const keyword : own.names())
        if (keyword != "type" && keyword != "enum" && keyword != "const") beside.push_back(keyword);
    if (constant && choices) beside.emplace_back("enum");

    std::vector<ordered_json> allowed;
    for (auto const& value : constant ? ordered_json::array({*constant}) : *choices)
        if (own.types() == kinds::none || includes(own.types(), kind_of(value))) allowed.push_back(value);
    auto accepts = kinds::none;
    for (auto const& value : allowed) accepts = accepts | kind_of(value);

    python_type texts;
    texts.is = python_type::form::literal;
    std::vector<python_type> parts;
    constexpr auto as_literal = kinds::string | kinds::null | kinds::boolean | kinds::integer;
    // to Python True is 1: a Literal of both takes 1.0 for the one that it has first
    auto const allows = [&](ordered_json const& value) {
        return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
    };
    bool const is_ambiguous = (allows(true) && allows(1)) || (allows(false) && allows(0));
    bool const is_literal = !allowed.empty() && includes(as_literal, accepts) && !is_ambiguous &&
                            std::all_of(allowed.begin(), allowed.end(),
                                        [](auto const& value) { return !value.is_number() || exact_integer(value); });
    if (is_literal) {
        std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(texts.values),
                     [](auto const& value) { return !value.is_null(); });
        texts.accepts = accepts & (kinds::string | kinds::boolean | kinds::integer);
        if (!texts.values.empty()) parts.push_back(std::move(texts));
        if (includes(accepts, kinds::null)) parts.push_back(python_type::scalar("None", kinds::null));
    }
    auto type = parts.empty() ? python_type{} : make_choice(std::move(parts));
    type.accepts = accepts;
    // to Python True is 1
    if (!includes(kinds::string | kinds::null, accepts) || !is_literal)
        type.checks.push_back(check_of(node, allowed.empty() ? ordered_json(false) : ordered_json{{"enum", allowed}}));
    add_check(type, node, own, beside);
    return type;
}

IPYBOX_DECL python_type translator::alternatives(schema_node const& node, std::string_view keyword,
                                                 std::string const& name) {
    std::vector<python_type> parts;
    auto const count = node.schema->at(std::string(keyword)).size();
    for (std::size_t i = 0; i < count; ++i) {
        auto const member = node.at(keyword, i);
        parts.push_back(type_of(member, name_of_member(document_, member, name)));
    }
    bool const all = std::any_of(parts.begin(), parts.end(), [](auto const& part) { return part.accepts_all(); });
    bool const exact = keyword == "anyOf" || are_disjoint(parts, classes_.list);
    auto type = all ? python_type{} : make_choice(std::move(parts));
    if (!exact) add_check(type, node, document_.keywords(node), {keyword});
    return type;
}

// --- Nodes with a type.

IPYBOX_DECL python_type translator::typed(schema_node const& node, schema_keywords const& own,
                                          std::string const& name) {
    std::vector<python_type> parts;
    auto const types = own.types();
    if (includes(types, kinds::string)) parts.push_back(of_kind(kinds::string, node, own, name));
    if (includes(types, kinds::number))
        parts.push_back(of_kind(kinds::number, node, own, name));
    else if (includes(types, kinds::integer))
        parts.push_back(of_kind(kinds::integer, node, own, name));
    for (auto const kind : {kinds::boolean, kinds::array, kinds::object, kinds::null})
        if (includes(types, kind)) parts.push_back(of_kind(kind, node, own, name));

    names generic;
    for (auto const keyword : own.names())
        if (is_generic(keyword)) generic.push_back(keyword);
    bool const is_class = parts.size() == 1 && parts[0].is == python_type::form::object;
    auto type = make_choice(std::move(parts));
    if (!is_class) add_check(type, node, own, generic); // a class has them in its rules
    return type;
}

IPYBOX_DECL python_type translator::of_kind(kinds kind, schema_node const& node, schema_keywords const& own,
                                            std::string const& name) {
    if (kind == kinds::array) return array(node, own, name);
    if (kind == kinds::object) return object(node, own, name);
    names unsaid;
    auto type = scalar_type(kind, own, unsaid);
    add_check(type, node, own, unsaid);
    return type;
}

IPYBOX_DECL python_type translator::array(schema_node const& node, schema_keywords const& own,
                                          std::string const& name) {
    auto const* items = own.find("items");
    bool const old_tuple = items && items->is_array();
    auto const first_keyword = old_tuple ? "items" : "prefixItems";
    auto const rest_keyword = old_tuple ? "additionalItems" : "items";
    auto const* first = own.find(first_keyword);
    auto const* rest = own.find(rest_keyword);
    auto const* least = own.find("minItems");

    names unsaid;
    for (auto const keyword : {"uniqueItems", "contains", "minContains", "maxContains"})
        if (own.has(keyword)) unsaid.emplace_back(keyword);
    python_type type;
    type.accepts = kinds::array;
    if (first && !first->empty() && rest && *rest == false && least && *least == first->size()) {
        type.is = python_type::form::tuple;
        type.constraints = {"strict=False"}; // an array is a list
        for (std::size_t i = 0; i < first->size(); ++i) type.parts.push_back(type_of(node.at(first_keyword, i), name));
        if (own.has("maxItems")) unsaid.emplace_back("maxItems");
    } else {
        type.is = python_type::form::list;
        type.parts.emplace_back();
        if (first) {
            unsaid.insert(unsaid.end(), {first_keyword, rest_keyword});
        } else if (rest) {
            auto const item = node.at({rest_keyword});
            type.parts[0] = type_of(item, name == "Result" ? "Item" : singular(name));
        }
        add_sizes(type, own, "minItems", "maxItems", unsaid);
    }
    add_check(type, node, own, unsaid);
    return type;
}

IPYBOX_DECL python_type translator::object(schema_node const& node, schema_keywords const& own,
                                           std::string const& name) {
    auto const members = members_of(document_, node);
    auto const* rest = own.find("additionalProperties");
    bool const closed = rest && *rest == false && !own.has("patternProperties");
    bool const unevaluated = own.has("unevaluatedProperties") || own.has("unevaluatedItems");
    if (members.properties.empty() && !closed && !unevaluated) return map(node, own, name);
    return object_class(node, own, members, name);
}

IPYBOX_DECL python_type translator::map(schema_node const& node, schema_keywords const& own, std::string const& name) {
    python_type type;
    type.is = python_type::form::map;
    type.accepts = kinds::object;
    type.parts.emplace_back();
    names unsaid;
    for (auto const keyword :
         {"patternProperties", "propertyNames", "required", "dependentRequired", "dependentSchemas", "dependencies"})
        if (own.has(keyword)) unsaid.emplace_back(keyword);
    if (own.has("patternProperties"))
        unsaid.emplace_back("additionalProperties");
    else if (own.has("additionalProperties"))
        type.parts[0] = type_of(node.at({"additionalProperties"}), name == "Result" ? "Value" : name + "Value");
    add_sizes(type, own, "minProperties", "maxProperties", unsaid);
    add_check(type, node, own, unsaid);
    return type;
}

// --- Classes.

IPYBOX_DECL python_type translator::object_class(schema_node const& node, schema_keywords const& own,
                                                 object_members const& members, std::string const& name) {
    if (classes_.list.size() >= most_classes) return checked(node);
    // what says the same is the same class; what refers to something may mean another thing elsewhere
    auto twin = *node.schema;
    std::string text;
    if (twin.is_object() && node.pointer != "#") {
        twin.erase("title");
        twin.erase("description");
        text = json_text(twin);
        if (text.find("\"$") != std::string::npos) text.clear();
    }
    if (auto const known = alike_.find(text); !text.empty() && known != alike_.end())
        return python_type::of_class(known->second);

    auto const index = classes_.list.size();
    if (!text.empty()) alike_[text] = index;
    classes_.list.push_back({.wanted_name = name});
    // known before its fields are, so that they may refer to it
    bool const is_whole_type = own.types() == kinds::object || own.types() == kinds::none;
    if (is_whole_type) known_[node.pointer] = python_type::of_class(index);

    python_class made{.wanted_name = name, .doc = class_doc(node)};
    for (bool const required : {true, false})
        for (auto const& [property, place] : members.properties)
            if (members.requires_property(property) == required)
                made.fields.push_back(field(property, place, required));
    if (auto const* rest = own.find("additionalProperties"); rest && !own.has("patternProperties")) {
        made.extra = *rest == false ? extra_members::forbidden : extra_members::typed;
        if (made.extra == extra_members::typed)
            made.extra_type = type_of(node.at({"additionalProperties"}), name == "Params" ? "Value" : name + "Value");
    }
    bool const says =
        node.schema->is_object() && (node.schema->contains("additionalProperties") || own.has("patternProperties"));
    if (made.extra == extra_members::allowed && says) made.extra = extra_members::welcome;
    made.rules = rules(node, own, members);
    classes_.list[index] = std::move(made);
    return python_type::of_class(index);
}

IPYBOX_DECL python_field translator::field(std::string const& property, schema_node const& node, bool required) {
    python_field made{.property = property, .type = type_of(node, class_name(property)), .required = required};
    if (!required && node.schema->is_object()) {
        auto const given = node.schema->find("default");
        bool const shown = given != node.schema->end() && is_plain(*given) && fits(*given, document_, node) &&
                           includes(made.type.accepts, kind_of(*given)) && !(given->is_array() && has_class(made.type));
        if (shown) made.shown_default = *given;
    }
    made.doc = field_doc(document_, node, made);
    return made;
}

IPYBOX_DECL std::vector<schema_check> translator::rules(schema_node const& node, schema_keywords const& own,
                                                        object_members const& members) const {
    if (own.forbids()) return {{"False", {}}};
    bool const whole = own.has("unevaluatedProperties") || own.has("unevaluatedItems") ||
                       (document_.needs_document(node) && !own.only({"type", "properties", "required"})) ||
                       own.has("$ref");
    if (whole) return {{{}, node.pointer}};
    bool const merged = own.has("allOf") && merged_members(document_, node);

    names unsaid;
    for (auto const keyword :
         {"minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"})
        if (own.has(keyword)) unsaid.emplace_back(keyword);
    for (auto const keyword : generic_keywords)
        if (own.has(keyword) && !(merged && keyword == "allOf")) unsaid.push_back(keyword);
    if (own.has("patternProperties"))
        unsaid.insert(unsaid.end(), {"properties", "patternProperties", "additionalProperties"});
    auto part = part_of(own, unsaid);
    auto beyond = ordered_json::array();
    for (auto const& required : members.required)
        if (!members.has(required)) beyond.push_back(required);
    if (!beyond.empty()) part["required"] = std::move(beyond);
    if (part.empty()) return {};
    return {check_of(node, part)};
}

// --- Checks.

IPYBOX_DECL schema_check translator::check_of(schema_node const& node, ordered_json const& part) const {
    if (auto arguments = inline_arguments(part, document_.version())) return {std::move(*arguments), {}};
    return {{}, node.pointer};
}

IPYBOX_DECL void translator::add_check(python_type& type, schema_node const& node, schema_keywords const& own,
                                       names const& listed) const {
    auto const part = part_of(own, listed);
    if (part.empty()) return;
    auto check = check_of(node, part);
    if (std::find(type.checks.begin(), type.checks.end(), check) == type.checks.end())
        type.checks.push_back(std::move(check));
}

} // namespace ipybox::codegen::detail
