#pragma once

#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/codegen/impl/package_index.hpp>
#include <ipybox/codegen/impl/package_mark.hpp>
#include <ipybox/codegen/impl/write_package.hpp>
#include <ipybox/codegen/module_names.hpp>
#include <ipybox/codegen/python_literal.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/codegen/support_source.hpp>
#include <ipybox/codegen/tool_module.hpp>
#include <ipybox/core/checksum.hpp>
#include <ipybox/core/json_depth.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/version.hpp>

#include <cmath>
#include <cstddef>
#include <exception>
#include <set>
#include <utility>

namespace ipybox::codegen {
namespace detail {

inline constexpr std::size_t most_tools = 5000;
inline constexpr std::size_t longest_name = 1000;
inline constexpr std::size_t longest_instructions = 64 * 1024;
inline constexpr std::size_t largest_schema = 1 << 20;                            ///< bytes
inline constexpr std::size_t deepest_listed = ipybox::detail::deepest_json - 100; ///< `_schemas.json` adds levels

/// All texts in it as UTF-8. Names that become the same by that are one.
inline ordered_json with_valid_texts(ordered_json const& value) {
    if (value.is_string()) return valid_utf8(value.get_ref<std::string const&>());
    if (value.is_array()) {
        auto out = ordered_json::array();
        for (auto const& item : value) out.push_back(with_valid_texts(item));
        return out;
    }
    if (!value.is_object()) return value;
    auto out = ordered_json::object();
    for (auto const& [name, member] : value.items()) out[valid_utf8(name)] = with_valid_texts(member);
    return out;
}

inline mcp::tool with_valid_texts(mcp::tool tool) {
    tool.name = valid_utf8(tool.name);
    if (tool.title) tool.title = valid_utf8(*tool.title);
    if (tool.description) tool.description = valid_utf8(*tool.description);
    tool.input_schema = with_valid_texts(tool.input_schema);
    if (tool.output_schema) tool.output_schema = with_valid_texts(*tool.output_schema);
    return tool;
}

/// The parts of a tool's schemas that were lost on the way here, or have no effect.
struct lost_values {
    bool text = false; ///< a name or compared value had something that is no UTF-8, or half of a surrogate pair
    bool number =
        false; ///< a compared value may have been an integer beyond 64 bits: it is the nearest number of 53 now
    bool recursion = false; ///< a reference of the dialect 2019-09 that only it has

    void find_in_text(std::string_view exact) { text = text || exact.find("\xEF\xBF\xBD") != std::string_view::npos; }

    enum class place { schema, names_of_schemas, compared };

    void find_in(ordered_json const& value, place where = place::schema) {
        if (value.is_array()) {
            for (auto const& item : value) find_in(item, where);
        } else if (value.is_object()) {
            for (auto const& [name, member] : value.items()) {
                find_in_text(name);
                recursion = recursion || (where == place::schema && name == "$recursiveRef");
                find_in(member, where == place::schema     ? below(name, member)
                                : where == place::compared ? where
                                                           : place::schema);
            }
        } else if (where == place::compared && value.is_string()) {
            find_in_text(value.get_ref<std::string const&>());
        } else if (where == place::compared && value.is_number_float()) {
            number = number || std::abs(value.get<double>()) >= 0x1p63;
        }
    }

    static place below(std::string const& keyword, ordered_json const& value) {
        if (keyword == "const" || keyword == "enum" || keyword == "required") return place::compared;
        bool const names = keyword == "properties" || keyword == "patternProperties" || keyword == "$defs" ||
                           keyword == "definitions" || keyword == "dependentSchemas";
        return names && value.is_object() ? place::names_of_schemas : place::schema;
    }
};

inline lost_values lost_of(mcp::tool const& tool) {
    lost_values lost;
    lost.find_in_text(tool.name);
    lost.find_in(tool.input_schema);
    if (tool.output_schema) lost.find_in(*tool.output_schema);
    return lost;
}

inline ordered_json listed_tool(mcp::tool const& tool) {
    ordered_json entry = {{"name", tool.name}};
    if (tool.title) entry["title"] = *tool.title;
    if (tool.description) entry["description"] = *tool.description;
    entry["inputSchema"] = tool.input_schema;
    if (tool.output_schema) entry["outputSchema"] = *tool.output_schema;
    if (tool.annotations) entry["annotations"] = ordered_json(*tool.annotations);
    return entry;
}

inline bool too_deep(mcp::tool const& tool) {
    return nests_deeper_than(deepest_listed, tool.input_schema) ||
           (tool.output_schema && nests_deeper_than(deepest_listed, *tool.output_schema)) ||
           (tool.annotations && nests_deeper_than(deepest_listed, *tool.annotations));
}

/// Tools that can have a module, in their order.
inline std::vector<mcp::tool> usable_tools(std::vector<mcp::tool> const& tools, generate_options const& options,
                                           std::vector<generated_sources::notice>& notices) {
    std::vector<mcp::tool> usable;
    std::set<std::string> names;
    auto const leave_out = [&](mcp::tool const& tool, std::string reason) {
        notices.push_back({valid_utf8(tool.name.substr(0, longest_name)), std::move(reason)});
    };
    auto const add = [&](mcp::tool tool) {
        auto const lost = lost_of(tool);
        if (lost.text)
            return leave_out(tool, "left out: its name, or a name or value in its schemas, is not valid Unicode");
        if (!names.insert(tool.name).second) return leave_out(tool, "left out: another tool has the same name");
        if (lost.number)
            notices.push_back({tool.name, "an enum or const has a number beyond 64 bits: arguments are compared with "
                                          "the nearest floating-point number"});
        if (lost.recursion)
            notices.push_back(
                {tool.name, "$recursiveRef is of the dialect 2019-09 alone: what it refers to is not checked"});
        usable.push_back(std::move(tool));
    };
    for (auto const& tool : tools) {
        if (!tool.remark.empty()) notices.push_back({{}, valid_utf8(tool.remark)});
        if (options.filter && !options.filter(tool)) continue;
        if (usable.size() == most_tools) {
            notices.push_back({{}, "there are more than 5000 tools: the rest is left out"});
            break;
        }
        if (!tool.problem.empty())
            leave_out(tool, "left out: " + tool.problem);
        else if (tool.name.size() > longest_name)
            leave_out(tool, "left out: its name has more than 1000 bytes");
        else if (too_deep(tool))
            leave_out(tool, "left out: its schemas are nested more than 400 levels deep");
        else
            add(with_valid_texts(tool));
    }
    return usable;
}

inline module_text module_of(mcp::tool const& tool, generate_options::call_style style) {
    if (json_text(tool.input_schema).size() > largest_schema ||
        (tool.output_schema && json_text(*tool.output_schema).size() > largest_schema))
        return open_tool_module(tool, style, "a schema of more than 1 MiB");
    if (!tool.input_schema.is_object()) return open_tool_module(tool, style, "its schema is no object");
    try {
        return tool_module(tool, style);
    } catch (std::exception const& failed) {
        return open_tool_module(tool, style, std::string("its schema could not be followed: ") + failed.what());
    }
}

} // namespace detail

IPYBOX_DECL std::string detail::listed_tools(std::string_view server_name, std::vector<mcp::tool> const& tools,
                                             std::vector<std::string> const& modules,
                                             std::map<std::string, std::string> const& files,
                                             std::string_view instructions) {
    ordered_json document = {
        {"generator", detail::generator_mark}, {"version", IPYBOX_VERSION_STRING}, {"server", server_name}};
    instructions = instructions.substr(0, whole_characters(instructions, longest_instructions));
    if (!instructions.empty()) document["instructions"] = valid_utf8(instructions);
    auto& by_module = document["modules"] = ordered_json::object();
    for (std::size_t i = 0; i < tools.size(); ++i) by_module[modules[i]] = tools[i].name;
    auto& checksums = document["checksums"] = ordered_json::object();
    for (auto const& [name, text] : files) checksums[name] = checksum(text);
    auto& list = document["tools"] = ordered_json::array();
    for (auto const& tool : tools) list.push_back(detail::listed_tool(tool));
    return json_text(document) + "\n";
}

IPYBOX_DECL result<generated_package> generated_package::make(std::string_view server_name,
                                                              std::vector<mcp::tool> const& tools,
                                                              generate_options const& options) {
    if (auto fits = check_package_name(server_name); !fits) return failure(fits);
    generated_package package{.server_name = std::string(server_name)};
    auto const usable = detail::usable_tools(tools, options, package.notices);
    std::vector<std::string> names;
    names.reserve(usable.size());
    for (auto const& tool : usable) names.push_back(tool.name);
    package.modules = module_names(names);

    for (std::size_t i = 0; i < usable.size(); ++i) {
        auto module = detail::module_of(usable[i], options.style);
        package.files[package.modules[i] + ".py"] = std::move(module.text);
        for (auto& warning : module.warnings) package.notices.push_back({usable[i].name, std::move(warning)});
    }
    package.files["__init__.py"] = detail::package_index(server_name, usable, package.modules, options);
    package.files["py.typed"] = "";
    for (auto const& file : detail::package_support) package.files[std::string(file.name)] = file.text;
    auto list = detail::listed_tools(server_name, usable, package.modules, package.files, options.instructions);
    if (ipybox::detail::count_json(list, detail::largest_list).excess != ipybox::detail::json_excess::none)
        return failure(errc::invalid_argument, "the tools of " + package.server_name +
                                                   " are listed with more than 16 MiB or 1,000,000 values: "
                                                   "choose fewer of them with a filter");
    package.files["_schemas.json"] = std::move(list);
    return package;
}

IPYBOX_DECL std::vector<std::string> generated_package::module_names(std::vector<std::string> const& tools) {
    return detail::module_names(tools);
}

IPYBOX_DECL result<generated_sources> generated_package::write(std::filesystem::path const& root_dir,
                                                               generate_options const& options) const {
    return detail::write_package(root_dir, *this, options);
}

IPYBOX_DECL result<generated_package::changes> generated_package::compare(std::filesystem::path const& root_dir) const {
    return detail::compare_package(root_dir, *this);
}

} // namespace ipybox::codegen
