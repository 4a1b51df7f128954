#pragma once

#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/tools/host_tool.hpp>

#include <algorithm>

namespace ipybox {

IPYBOX_DECL host_tool::host_tool(std::string name, std::string description, options chosen)
    : options_(std::move(chosen)) {
    listed_.name = std::move(name);
    if (!description.empty()) listed_.description = std::move(description);
    if (!options_.title.empty()) listed_.title = options_.title;
    auto hints = nlohmann::json::object();
    if (options_.read_only) hints["readOnlyHint"] = *options_.read_only;
    if (options_.destructive) hints["destructiveHint"] = *options_.destructive;
    if (options_.idempotent) hints["idempotentHint"] = *options_.idempotent;
    if (options_.open_world) hints["openWorldHint"] = *options_.open_world;
    if (!hints.empty()) listed_.annotations = std::move(hints);
    annotations_ = mcp::detail::annotations_of(listed_);
}

IPYBOX_DECL std::string host_tool::wrong_with(std::vector<std::string> const& names) {
    for (auto at = names.begin(); at != names.end(); ++at) {
        if (!is_utf8(*at)) return "the name of a parameter is not UTF-8";
        if (std::find(names.begin(), at, *at) != at) return "two parameters have the name " + *at;
    }
    return {};
}

IPYBOX_DECL result<void> host_tool::check() const {
    constexpr std::size_t longest_name = 128;
    auto const wrong = [this](std::string const& what) {
        return failure(errc::invalid_argument, "the host tool \"" + listed_.name + "\": " + what);
    };
    if (listed_.name.empty()) return wrong("it has no name");
    if (listed_.name.size() > longest_name) return wrong("its name has more than 128 bytes");
    if (!is_utf8(listed_.name)) return wrong("its name is not UTF-8");
    if (!wrong_.empty()) return wrong(wrong_);
    if (body_->is_empty()) return wrong("its function is empty");
    if (options_.executor.is_empty()) return wrong("its executor is empty");
    auto const& schema = listed_.input_schema;
    if (!schema.is_object() || schema.value("type", nlohmann::ordered_json()) != "object")
        return wrong(R"(the schema of its arguments has to be an object with "type": "object")");
    if (auto const found = detail::find_unchecked(schema)) return wrong(*found);
    if (body_->style() == detail::tool_style::coroutine && options_.executor.is_named() && !options_.executor.is_asio())
        return wrong("a coroutine needs an Asio executor");
    return {};
}

} // namespace ipybox
