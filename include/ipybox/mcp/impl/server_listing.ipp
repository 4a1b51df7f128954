#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/server_listing.hpp>
#include <ipybox/mcp/server_request.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline bool is_object_schema(nlohmann::ordered_json const& schema) {
    auto const type = schema.is_object() ? schema.find("type") : schema.end();
    return type != schema.end() && *type == "object";
}

/// A tool as a version lists it. Output schemas were of objects before 2026-07-28; tasks were a property of tools in
/// 2025-11-25 alone.
inline std::string write_tool(server::tool const& tool, server::client_description const& client) {
    auto const& spoken = client.version;
    auto const& t = tool.definition;
    object_text text;
    text.string("name", t.name);
    if (t.title && spoken >= "2025-06-18") text.string("title", *t.title);
    if (t.description) text.string("description", *t.description);
    text.json("inputSchema", json_text(t.input_schema));
    bool const any_output = client.is_stateless;
    if (t.output_schema && client.takes_structured_content &&
        (any_output || (spoken >= "2025-06-18" && is_object_schema(*t.output_schema))))
        text.json("outputSchema", json_text(*t.output_schema));
    if (t.annotations && spoken >= "2025-03-26") text.json("annotations", json_text(*t.annotations));
    if (tool.tasks == mcp::server::tool::task_support::optional && spoken == "2025-11-25")
        text.json("execution", R"({"taskSupport":"optional"})");
    return text.take();
}

/// The beginning of a page: its cursor is the index of its first tool.
inline std::optional<std::size_t> page_start(std::string_view cursor, std::size_t page, std::size_t size) {
    if (cursor.empty() || cursor == "null") return 0;
    auto const text = read_string(cursor).value_or("");
    std::size_t start = 0;
    auto const parsed = std::from_chars(text.data(), text.data() + text.size(), start);
    bool const whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && !text.starts_with('0');
    if (!whole || start >= size || start % page != 0) return std::nullopt;
    return start;
}

} // namespace detail

IPYBOX_DECL server_listing::server_listing(server::options const& options)
    : instructions_(options.instructions), tools_(&options.tools),
      page_(std::max<std::size_t>(1, options.limits.tools_page)) {
    detail::object_text plain;
    plain_info_ = plain.string("name", options.name).string("version", options.version).take();
    detail::object_text full;
    full.string("name", options.name);
    if (!options.title.empty()) full.string("title", options.title);
    info_ = full.string("version", options.version).take();
    for (auto const& tool : options.tools)
        has_tasks_ = has_tasks_ || tool.tasks == mcp::server::tool::task_support::optional;
}

IPYBOX_DECL std::string server_listing::complete(std::vector<rpc_member> const& members) const {
    detail::object_text meta;
    auto const [name, value] = server_info();
    detail::object_text result;
    result.json("resultType", R"("complete")");
    for (auto const& member : members) result.json(member.name, member.value);
    return result.json("_meta", meta.json(name, value).take()).take();
}

IPYBOX_DECL std::string server_listing::capabilities(server::client_description const& client) const {
    detail::object_text declared;
    declared.json("tools", "{}");
    if (has_tasks_ && client.is_stateless)
        declared.json("extensions", R"({"io.modelcontextprotocol/tasks":{}})");
    else if (has_tasks_ && client.version == "2025-11-25")
        declared.json("tasks", R"({"list":{},"cancel":{},"requests":{"tools":{"call":{}}}})");
    return declared.take();
}

IPYBOX_DECL std::string server_listing::initialize_result(server::client_description const& client) const {
    detail::object_text result;
    result.string("protocolVersion", client.version)
        .json("capabilities", capabilities(client))
        .json("serverInfo", client.version >= "2025-06-18" ? info_ : plain_info_);
    if (!instructions_.empty()) result.string("instructions", instructions_);
    return result.take();
}

/// 2026-07-28, "Discovery".
IPYBOX_DECL std::string server_listing::discover_result() const {
    server::client_description modern;
    modern.is_stateless = true;
    auto const versions = detail::known_versions();
    auto const declared = capabilities(modern);
    auto const ttl = std::to_string(time_to_live);
    auto const instructions = instructions_.empty() ? std::string() : json_string(instructions_);
    std::vector<rpc_member> members{{"supportedVersions", versions}, {"capabilities", declared}};
    if (!instructions.empty()) members.push_back({"instructions", instructions});
    members.push_back({"ttlMs", ttl});
    members.push_back({"cacheScope", R"("private")"});
    return complete(members);
}

IPYBOX_DECL answer_to<std::string> server_listing::tools_result(server::client_description const& client,
                                                                std::string_view cursor) const {
    auto const start = detail::page_start(cursor, page_, tools_->size());
    if (!start)
        return detail::refused(rpc_invalid_params, "the cursor " + detail::shown(read_string(cursor).value_or("")) +
                                                       " is not one that this server gave");
    auto const end = std::min(tools_->size(), *start + page_);
    std::string tools = "[";
    for (auto at = *start; at != end; ++at)
        tools.append(at == *start ? "" : ",").append(detail::write_tool((*tools_)[at], client));
    tools.append("]");
    auto const next = end < tools_->size() ? "\"" + std::to_string(end) + "\"" : std::string();
    std::vector<rpc_member> members{{"tools", tools}};
    if (!next.empty()) members.push_back({"nextCursor", next});
    if (client.is_stateless) {
        auto const ttl = std::to_string(time_to_live);
        members.push_back({"ttlMs", ttl});
        members.push_back({"cacheScope", R"("private")"});
        return complete(members);
    }
    detail::object_text result;
    for (auto const& member : members) result.json(member.name, member.value);
    return result.take();
}

} // namespace ipybox::mcp
