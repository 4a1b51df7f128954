#pragma once

#include <ipybox/codegen/impl/class_writer.hpp>
#include <ipybox/codegen/python_literal.hpp>

#include <algorithm>
#include <functional>

namespace ipybox::codegen::detail {

using form = python_type::form;

inline void classes_in(python_type const& type, std::vector<std::size_t>& out) {
    if (type.is == form::object) out.push_back(type.model);
    for (auto const& part : type.parts) classes_in(part, out);
}

inline std::vector<std::size_t> classes_of(python_class const& of) {
    std::vector<std::size_t> out;
    for (auto const& field : of.fields) classes_in(field.type, out);
    classes_in(of.extra_type, out);
    return out;
}

inline bool has_pointer(std::vector<schema_check> const& checks) {
    return std::any_of(checks.begin(), checks.end(), [](schema_check const& check) { return check.arguments.empty(); });
}

inline bool has_pointer(python_type const& type) {
    return has_pointer(type.checks) ||
           std::any_of(type.parts.begin(), type.parts.end(), [](python_type const& part) { return has_pointer(part); });
}

/// Depth first without recursion: what a class needs comes before it, unless that needs the class.
IPYBOX_DECL class_order order_of(translation const& of) {
    enum class state : char { waiting, open, done };
    auto const& all = of.classes.list;
    std::vector<state> states(all.size(), state::waiting);
    std::vector<std::size_t> roots;
    classes_in(of.root, roots);

    struct step {
        std::size_t model;
        std::vector<std::size_t> needs;
        std::size_t next = 0;
    };
    class_order order;
    std::vector<step> stack;
    auto const enter = [&](std::size_t model) {
        if (states[model] != state::waiting) return;
        states[model] = state::open;
        stack.push_back({model, classes_of(all[model])});
    };
    for (auto const root : roots) {
        enter(root);
        while (!stack.empty()) {
            auto& top = stack.back();
            if (top.next < top.needs.size()) {
                enter(top.needs[top.next++]);
                continue;
            }
            states[top.model] = state::done;
            order.classes.push_back(top.model);
            stack.pop_back();
        }
    }

    // which classes wait for one that is defined later, and with which one the last of them is there
    std::vector<std::size_t> position(all.size(), 0), ready(all.size(), 0);
    for (std::size_t i = 0; i < order.classes.size(); ++i) position[order.classes[i]] = i;
    for (std::size_t i = 0; i < order.classes.size(); ++i) ready[order.classes[i]] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto const model : order.classes)
            for (auto const needed : classes_of(all[model]))
                if (auto const later = std::max(position[needed], ready[needed]); later > ready[model])
                    ready[model] = later, changed = true;
    }
    order.completed.resize(order.classes.size());
    for (auto const model : order.classes)
        if (ready[model] > position[model]) order.completed[ready[model]].push_back(model);
    // the class that was waited for was incomplete itself when it was defined
    for (std::size_t i = 0; i < order.completed.size(); ++i)
        if (!order.completed[i].empty()) order.completed[i].push_back(order.classes[i]);
    return order;
}

IPYBOX_DECL class_writer::class_writer(translation const& of, std::string_view kind, std::string_view root_name,
                                       std::string_view prefix, name_scope& taken)
    : of_(of), kind_(kind), order_(order_of(of)), names_(of.classes.list.size()) {
    for (auto const model : order_.classes) {
        if (of.root.is == form::object && model == of.root.model) {
            names_[model] = root_name;
            continue;
        }
        auto wanted = of.classes.list[model].wanted_name;
        if (taken.has(wanted) && !wanted.starts_with(prefix)) wanted.insert(0, prefix);
        names_[model] = taken.take(std::move(wanted), "");
    }
}

IPYBOX_DECL bool class_writer::checks_by_pointer() const {
    if (has_pointer(of_.root)) return true;
    return std::any_of(order_.classes.begin(), order_.classes.end(), [&](std::size_t model) {
        auto const& made = of_.classes.list[model];
        return has_pointer(made.rules) || has_pointer(made.extra_type) ||
               std::any_of(made.fields.begin(), made.fields.end(),
                           [](python_field const& field) { return has_pointer(field.type); });
    });
}

IPYBOX_DECL std::string class_writer::text(name_scope const& all, used_names& used) const {
    std::string out;
    for (std::size_t i = 0; i < order_.classes.size(); ++i) {
        auto const model = order_.classes[i];
        out += "\n\n" + class_text(of_.classes.list[model], names_[model], all, used);
        if (!order_.completed[i].empty()) out += "\n\n";
        for (auto const complete : order_.completed[i]) out += names_[complete] + ".model_rebuild()\n";
    }
    return out;
}

IPYBOX_DECL std::string class_writer::class_text(python_class const& of, std::string const& name, name_scope const& all,
                                                 used_names& used) const {
    used.model.insert("Model");
    std::string out;
    for (auto const& rule : of.rules) {
        used.schema.insert("rule");
        out += "@rule(" + check(rule, used) + ")\n";
    }
    out += "class " + name + "(Model";
    if (of.extra == extra_members::forbidden) out += ", extra=\"forbid\"";
    if (of.extra == extra_members::welcome && !of.fields.empty() && !of_.classes.lenient) out += ", more=True";
    out += "):\n";
    if (!of.doc.empty()) out += "    " + docstring(of.doc, "    ") + "\n";

    std::vector<std::string> properties;
    properties.reserve(of.fields.size());
    for (auto const& field : of.fields) properties.push_back(field.property);
    auto const names = field_names(properties, all);
    std::string body;
    for (std::size_t i = 0; i < names.size(); ++i) body += field_text(of.fields[i], names[i], used);
    if (of.extra == extra_members::typed)
        body += "    __pydantic_extra__: dict[str, " + annotation(of.extra_type, used) + "]\n";
    if (!of.doc.empty() && !body.empty()) out += "\n";
    out += body;
    if (of.doc.empty() && body.empty()) out += "    pass\n";
    return out;
}

IPYBOX_DECL std::string class_writer::field_text(python_field const& field, std::string const& name,
                                                 used_names& used) const {
    auto type = field.type;
    bool const nullable = includes(type.accepts, kinds::null);
    std::vector<std::string> arguments;
    if (!field.required && of_.classes.lenient)
        arguments.emplace_back("None");
    else if (!field.required && field.shown_default)
        arguments.push_back(value_literal(*field.shown_default));
    else if (!field.required)
        arguments.push_back(*used.model.insert("UNSET").first);
    bool const adds_null = !field.required && of_.classes.lenient && !(nullable && type.checks.empty());
    if (name != field.property) arguments.push_back("alias=" + string_literal(field.property));
    if (type.is != form::choice && type.is != form::tuple && !adds_null) {
        arguments.insert(arguments.end(), type.constraints.begin(), type.constraints.end());
        type.constraints.clear();
    }

    auto out = "    " + name + ": " + annotation(type, used) + (adds_null ? " | None" : "");
    bool const is_call = arguments.size() > 1 || (field.required && !arguments.empty());
    std::string joined;
    for (auto const& argument : arguments) joined += (joined.empty() ? "" : ", ") + argument;
    if (is_call) used.pydantic.insert("Field");
    if (is_call) joined = "Field(" + joined + ")";
    if (!joined.empty()) out += " = " + joined;
    out += "\n";
    if (!field.doc.empty()) out += "    " + docstring(field.doc, "    ") + "\n";
    return out;
}

IPYBOX_DECL std::string class_writer::annotation(python_type const& type, used_names& used) const {
    auto base = base_of(type, used);
    if (type.constraints.empty() && type.checks.empty()) return base;
    used.typing.insert("Annotated");
    auto out = "Annotated[" + base;
    if (!type.constraints.empty()) {
        used.pydantic.insert("Field");
        out += ", Field(";
        for (std::size_t i = 0; i < type.constraints.size(); ++i) out += (i > 0 ? ", " : "") + type.constraints[i];
        out += ")";
    }
    for (auto const& one : type.checks) out += ", " + check(one, used);
    return out + "]";
}

IPYBOX_DECL std::string class_writer::base_of(python_type const& type, used_names& used) const {
    auto const all = [&](char const* separator) {
        std::string out;
        for (auto const& part : type.parts) out += (out.empty() ? "" : separator) + annotation(part, used);
        return out;
    };
    std::string values;
    switch (type.is) {
    case form::scalar: return type.word;
    case form::list: return "list[" + annotation(type.parts[0], used) + "]";
    case form::map: return "dict[str, " + annotation(type.parts[0], used) + "]";
    case form::tuple: return "tuple[" + all(", ") + "]";
    case form::object: return names_[type.model];
    case form::choice: return all(" | ");
    case form::literal:
        used.typing.insert("Literal");
        for (auto const& value : type.values) values += (values.empty() ? "" : ", ") + value_literal(value);
        return "Literal[" + values + "]";
    case form::any: break;
    }
    used.typing.insert("Any");
    return "Any";
}

IPYBOX_DECL std::string class_writer::check(schema_check const& of, used_names& used) const {
    if (of.arguments.empty()) {
        used.schema.insert("schema_of");
        return std::string(checks_name()) + "(" + string_literal(of.pointer) + ")";
    }
    used.schema.insert("Schema");
    return "Schema(" + of.arguments + ")";
}

} // namespace ipybox::codegen::detail
