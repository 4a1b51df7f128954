#pragma once

#include <ipybox/codegen/impl/choice.hpp>
#include <ipybox/codegen/impl/field_doc.hpp>
#include <ipybox/codegen/impl/object_members.hpp>
#include <ipybox/codegen/python_literal.hpp>

#include <cctype>
#include <cstddef>
#include <string_view>

namespace ipybox::codegen::detail {

/// Adds a sentence; what is before it gets its full stop.
inline void add_sentence(std::string& doc, std::string const& sentence) {
    if (sentence.empty()) return;
    static constexpr std::string_view ends = ".!?:;…";
    if (!doc.empty()) doc += ends.find(doc.back()) == std::string_view::npos ? ". " : " ";
    doc += sentence;
}

inline std::string stopped(std::string text) {
    if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
    return text;
}

inline std::string letters_of(std::string_view text) {
    std::string out;
    for (char const c : text) {
        auto const letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter)) out.push_back(static_cast<char>(std::tolower(letter)));
    }
    return out;
}

/// The title, where it is more than the name in other letters.
inline std::string telling_title(schema_node const& node, std::string_view name) {
    auto const title = node.text("title");
    return letters_of(title) == letters_of(name) ? std::string() : one_line(title);
}

/// A description on one line. Two full stops at its end, as generators of schemas leave them, are one.
inline std::string described(schema_node const& node) {
    auto text = one_line(node.text("description"));
    if (text.ends_with("..") && !text.ends_with("...")) text.pop_back();
    return text;
}

inline std::string own_text(schema_node const& node, std::string_view name) {
    auto const description = described(node);
    return description.empty() ? telling_title(node, name) : description;
}

/// The description of a member of a union: `"hot": Hot list. The newest first.`
inline std::string about_member(schema_document const& document, schema_node const& member) {
    auto const own = document.keywords(member);
    std::string text;
    auto const title = one_line(member.text("title"));
    auto const description = described(member);
    if (auto const* constant = own.find("const"); constant && !constant->is_structured()) {
        if (title.empty() && description.empty()) return {};
        text = value_literal(*constant) + ":";
        if (!title.empty()) text += " " + stopped(title);
        if (!description.empty()) text += " " + description;
        return stopped(text);
    }
    return stopped(description);
}

inline std::string examples_of(schema_node const& node) {
    static constexpr std::size_t most = 3, longest = 200;
    if (!node.schema->is_object()) return {};
    auto const found = node.schema->find("examples");
    if (found == node.schema->end() || !found->is_array()) return {};
    std::string text;
    for (std::size_t i = 0; i < found->size() && i < most; ++i) {
        auto const example = value_literal((*found)[i]);
        if (text.size() + example.size() > longest) break;
        text += (text.empty() ? "Examples: " : ", ") + example;
    }
    return stopped(text);
}

inline std::string format_of(schema_node const& node) {
    auto const format = one_line(node.text("format"));
    return format.empty() ? format : "Format: " + format + ".";
}

inline void add_members(std::string& doc, schema_document const& document, schema_node const& node,
                        python_type const& type) {
    auto const own = document.keywords(node);
    for (auto const* keyword : {"anyOf", "oneOf"}) {
        auto const* members = own.find(keyword);
        if (!members) continue;
        for (std::size_t i = 0; i < members->size(); ++i) {
            auto const member = followed(document, node.at(keyword, i));
            auto const is_object = includes(document.keywords(member).types(), kinds::object);
            if (!is_object || !has_class(type)) add_sentence(doc, about_member(document, member));
            add_sentence(doc, format_of(member));
        }
    }
    if (auto const* items = own.find("items"); items && items->is_object()) {
        auto const item = followed(document, node.at({"items"}));
        auto const text = has_class(type) ? std::string() : described(item);
        if (!text.empty()) add_sentence(doc, "Items: " + stopped(text));
        add_sentence(doc, format_of(item));
    }
}

IPYBOX_DECL std::string field_doc(schema_document const& document, schema_node const& node, python_field const& field) {
    static constexpr std::size_t longest_default = 200;
    auto doc = own_text(node, field.property);
    auto const target = followed(document, node);
    if (doc.empty() && field.type.is != python_type::form::object) doc = own_text(target, field.property);
    add_members(doc, document, target, field.type);
    add_sentence(doc, format_of(target));
    if (!node.schema->is_object()) return doc;
    if (auto const given = node.schema->find("default");
        given != node.schema->end() && !given->is_null() && !field.shown_default) {
        auto const literal = value_literal(*given);
        if (literal.size() <= longest_default) add_sentence(doc, "Default: " + literal + ".");
    }
    add_sentence(doc, examples_of(node));
    if (auto const mark = node.schema->find("deprecated"); mark != node.schema->end() && *mark == true)
        add_sentence(doc, "Deprecated.");
    return doc;
}

IPYBOX_DECL std::string class_doc(schema_node const& node) { return described(node); }

} // namespace ipybox::codegen::detail
