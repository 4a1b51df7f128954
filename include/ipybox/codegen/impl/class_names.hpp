#pragma once

#include <ipybox/codegen/impl/object_members.hpp>
#include <ipybox/codegen/python_name.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::codegen::detail {

/// The name of a class at the target of a reference: the key in `$defs`, else the property on the way.
inline std::string name_of_target(std::string_view pointer) {
    auto const steps = steps_of(pointer);
    for (std::size_t i = steps.size(); i-- > 0;) {
        bool const named =
            i > 0 && (steps[i - 1] == "$defs" || steps[i - 1] == "definitions" || steps[i - 1] == "properties");
        if (!named) continue;
        bool const of_item = i + 1 < steps.size() && steps[i + 1] == "items";
        return class_name(of_item ? singular(steps[i]) : steps[i]);
    }
    return "Item";
}

/// The name of a class for a member of a union: a constant that all such objects have, or its title, tells it from the
/// others.
inline std::string name_of_member(schema_document const& document, schema_node const& member, std::string const& name) {
    for (auto const& [property, node] : members_of(document, member).properties) {
        auto const own = document.keywords(node);
        auto const* tag = own.find("const");
        if (auto const* choices = own.find("enum"); choices && choices->size() == 1) tag = &choices->front();
        if (tag && tag->is_string()) return class_name(tag->get_ref<std::string const&>()) + name;
    }
    auto const title = member.text("title");
    return title.empty() || title.size() > 60 ? name : class_name(title);
}

} // namespace ipybox::codegen::detail
