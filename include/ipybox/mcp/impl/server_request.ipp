#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/server_request.hpp>

#include <utility>

namespace ipybox::mcp {
namespace detail {

inline constexpr std::string_view meta_prefix = "io.modelcontextprotocol/";

inline std::string_view* place_in_meta(request_params& p, std::string_view name) {
    if (name == "progressToken") return &p.progress_token;
    if (!name.starts_with(meta_prefix)) return nullptr;
    name.remove_prefix(meta_prefix.size());
    if (name == "protocolVersion") return &p.meta_version;
    if (name == "clientCapabilities") return &p.meta_capabilities;
    if (name == "clientInfo") return &p.meta_client_info;
    return nullptr;
}

inline std::string_view* place_in_params(request_params& p, std::string_view name) {
    if (name == "name") return &p.name;
    if (name == "arguments") return &p.arguments;
    if (name == "task") return &p.task;
    if (name == "requestState") return &p.request_state;
    if (name == "inputResponses") return &p.input_responses;
    if (name == "cursor") return &p.cursor;
    if (name == "taskId") return &p.task_id;
    if (name == "requestId") return &p.request_id;
    if (name == "protocolVersion") return &p.protocol_version;
    if (name == "capabilities") return &p.capabilities;
    if (name == "clientInfo") return &p.client_info;
    return nullptr;
}

/// Keeps the members that have a place.
template <class Place>
bool read_members(std::string_view object, Place place_of) {
    json_cursor cursor(object);
    bool const read = cursor.object([&](std::string const& name) {
        auto const value = cursor.skip();
        if (auto* const place = place_of(name); place && value) *place = *value;
        return value.has_value();
    });
    return read && cursor.finished();
}

/// Takes name, version and capabilities; false where they are longer than allowed.
inline bool describe(server::client_description& client, std::string_view capabilities, std::string_view info) {
    if (capabilities.size() + info.size() > longest_description) return false;
    if (auto declared = read_json(capabilities); declared && declared->is_object())
        client.capabilities = std::move(*declared);
    auto const said = read_json(info).value_or(nullptr);
    auto const text = [&said](char const* name) {
        auto const found = said.is_object() ? said.find(name) : said.end();
        return found != said.end() && found->is_string() ? found->template get<std::string>() : std::string();
    };
    client.name = text("name");
    client.client_version = text("version");
    return true;
}

inline tl::unexpected<rpc_error> too_long_description() {
    return refused(rpc_invalid_params, "the capabilities and the description of a client have at most " +
                                           std::to_string(longest_description >> 10) + " KiB");
}

} // namespace detail

IPYBOX_DECL answer_to<request_params> read_request_params(std::string_view params) {
    request_params p;
    std::string_view meta;
    auto const place = [&](std::string_view name) {
        return name == "_meta" ? &meta : detail::place_in_params(p, name);
    };
    if (!params.empty() && !detail::read_members(params, place))
        return detail::refused(rpc_invalid_params, "`params` has to be an object");
    auto const place_in_meta = [&p](std::string_view name) { return detail::place_in_meta(p, name); };
    if (!meta.empty() && meta != "null" && !detail::read_members(meta, place_in_meta))
        return detail::refused(rpc_invalid_params, "`_meta` has to be an object");
    return p;
}

IPYBOX_DECL std::optional<std::string> request_key(std::string_view id) {
    if (id.size() > longest_request_id) return std::nullopt;
    if (auto const text = read_string(id)) {
        // It goes back as it came: what is not UTF-8, and halves of surrogate pairs, must not.
        if (!nlohmann::json::accept(id)) return std::nullopt;
        return "\"" + *text;
    }
    auto const digits = id.starts_with('-') ? id.substr(1) : id;
    bool const whole = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!whole) return std::nullopt;
    return std::string(id);
}

IPYBOX_DECL std::optional<std::string> read_string(std::string_view json) {
    json_cursor cursor(json);
    if (cursor.peek() != '"') return std::nullopt;
    return cursor.string();
}

IPYBOX_DECL answer_to<server::client_description> read_initialize(request_params const& params) {
    server::client_description client;
    client.is_stateless = false;
    client.version = read_string(params.protocol_version).value_or("");
    if (!detail::knows(handshake_versions, client.version)) client.version = handshake_versions.front();
    if (!detail::describe(client, params.capabilities, params.client_info)) return detail::too_long_description();
    return client;
}

/// 2026-07-28, "Overview", section "_meta".
IPYBOX_DECL answer_to<server::client_description> read_request_meta(request_params const& params) {
    auto const lacks = [](std::string_view key, std::string_view what) {
        return detail::refused(rpc_invalid_params, std::string("`_meta` of a request has to have \"")
                                                       .append(detail::meta_prefix)
                                                       .append(key)
                                                       .append("\", ")
                                                       .append(what));
    };
    server::client_description client;
    client.is_stateless = true;
    auto const named = read_string(params.meta_version);
    if (!named) return lacks("protocolVersion", "the version that it speaks");
    if (!detail::knows(stateless_versions, *named)) {
        detail::object_text data;
        data.json("supported", detail::known_versions()).string("requested", named->substr(0, 100));
        return detail::refused(mcp_unsupported_version,
                               "the version " + detail::shown(*named) + " is not one that requests can name",
                               data.take());
    }
    client.version = *named;
    if (!params.meta_capabilities.starts_with('{'))
        return lacks("clientCapabilities", "an object, {} where the client has none");
    if (!detail::describe(client, params.meta_capabilities, params.meta_client_info))
        return detail::too_long_description();
    return client;
}

IPYBOX_DECL std::optional<server::elicitation> read_elicitation_answer(std::string_view json) {
    std::string_view action;
    std::string_view filled;
    auto const place = [&](std::string_view name) {
        return name == "action" ? &action : name == "content" ? &filled : nullptr;
    };
    if (!detail::read_members(json, place)) return std::nullopt;
    auto const name = read_string(action);
    server::elicitation answer;
    if (name == "accept")
        answer.action = server::elicitation::response::accept;
    else if (name == "decline")
        answer.action = server::elicitation::response::decline;
    else if (name != "cancel")
        return std::nullopt;
    if (answer.action != server::elicitation::response::accept || filled.empty() || filled == "null") return answer;
    auto value = read_json<nlohmann::ordered_json>(filled);
    if (!value || !value->is_object()) return std::nullopt;
    answer.content = std::move(*value);
    return answer;
}

} // namespace ipybox::mcp
