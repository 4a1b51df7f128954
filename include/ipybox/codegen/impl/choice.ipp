#pragma once

#include <ipybox/codegen/impl/choice.hpp>
#include <ipybox/core/same_json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ipybox::codegen::detail {

using form = python_type::form;

inline bool is_bare(python_type const& type) { return type.constraints.empty() && type.checks.empty(); }

inline bool same_type(python_type const& a, python_type const& b) {
    return a.is == b.is && a.word == b.word && a.model == b.model && a.values == b.values &&
           a.constraints == b.constraints && a.checks == b.checks &&
           std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), same_type);
}

inline void unfold(python_type type, std::vector<python_type>& out) {
    if (type.is == form::choice && is_bare(type)) {
        for (auto& part : type.parts) unfold(std::move(part), out);
        return;
    }
    if (type.is == form::literal && is_bare(type))
        for (auto& other : out)
            if (other.is == form::literal && is_bare(other)) {
                for (auto& value : type.values)
                    if (std::find(other.values.begin(), other.values.end(), value) == other.values.end())
                        other.values.push_back(std::move(value));
                other.accepts = other.accepts | type.accepts;
                return;
            }
    if (std::none_of(out.begin(), out.end(), [&](auto const& other) { return same_type(type, other); }))
        out.push_back(std::move(type));
}

inline python_field const* field_of(python_class const& of, std::string const& property) {
    auto const found = std::find_if(of.fields.begin(), of.fields.end(),
                                    [&](python_field const& field) { return field.property == property; });
    return found == of.fields.end() ? nullptr : &*found;
}

inline bool have_no_common_value(python_type const& a, python_type const& b) {
    if ((a.accepts & b.accepts) == kinds::none) return true;
    if (a.is != form::literal || b.is != form::literal) return false;
    return std::none_of(a.values.begin(), a.values.end(), [&](ordered_json const& value) {
        return std::any_of(b.values.begin(), b.values.end(),
                           [&](ordered_json const& other) { return ipybox::detail::same_json(value, other); });
    });
}

/// `a` requires what `b` does not have, or both require a property to be different things.
inline bool tells_apart(python_class const& a, python_class const& b) {
    return std::any_of(a.fields.begin(), a.fields.end(), [&](python_field const& field) {
        if (!field.required) return false;
        auto const* other = field_of(b, field.property);
        if (!other) return b.extra == extra_members::forbidden;
        return other->required && field.type.is != form::choice && other->type.is != form::choice &&
               have_no_common_value(field.type, other->type);
    });
}

inline bool are_apart(python_type const& a, python_type const& b, std::vector<python_class> const& classes) {
    if (a.is == form::choice || b.is == form::choice) {
        auto const& whole = a.is == form::choice ? a : b;
        auto const& other = a.is == form::choice ? b : a;
        return std::all_of(whole.parts.begin(), whole.parts.end(),
                           [&](python_type const& part) { return are_apart(part, other, classes); });
    }
    if (have_no_common_value(a, b)) return true;
    if (a.is != form::object || b.is != form::object) return false;
    return tells_apart(classes[a.model], classes[b.model]) || tells_apart(classes[b.model], classes[a.model]);
}

IPYBOX_DECL python_type make_choice(std::vector<python_type> parts) {
    std::vector<python_type> members;
    for (auto& part : parts) unfold(std::move(part), members);
    auto const has_number = std::any_of(members.begin(), members.end(), [](auto const& member) {
        return member.is == form::scalar && member.accepts == kinds::number && is_bare(member);
    });
    std::erase_if(members, [&](python_type const& member) {
        return has_number && member.is == form::scalar && member.accepts == kinds::integer;
    });
    auto const is_none = [](python_type const& member) { return member.word == "None"; };
    std::vector<python_type> last;
    std::copy_if(members.begin(), members.end(), std::back_inserter(last), is_none);
    std::erase_if(members, is_none);
    members.insert(members.end(), last.begin(), last.end());
    if (members.size() == 1) return std::move(members.front());
    python_type choice;
    choice.is = form::choice;
    choice.accepts = kinds::none;
    for (auto const& member : members) choice.accepts = choice.accepts | member.accepts;
    choice.parts = std::move(members);
    return choice;
}

IPYBOX_DECL bool are_disjoint(std::vector<python_type> const& parts, std::vector<python_class> const& classes) {
    for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (!are_apart(parts[i], parts[j], classes)) return false;
    return true;
}

IPYBOX_DECL bool has_class(python_type const& type) {
    return type.is == form::object || std::any_of(type.parts.begin(), type.parts.end(), has_class);
}

} // namespace ipybox::codegen::detail
