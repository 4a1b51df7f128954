#pragma once

#include <ipybox/codegen/python_name.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/core/utf8.hpp>
#include <ipybox/mcp/lenient_arguments.hpp>
#include <ipybox/mcp/server_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/** \file
 * The entry of an MCP server that a model registers.
 */

namespace ipybox::detail {

/// The members that count, in the order in which a person reads them: first the program.
inline constexpr std::array<std::string_view, 14> entry_members{
    "command", "args",      "cwd",     "env",         "envFile", "sandbox",         "url",
    "httpUrl", "serverUrl", "headers", "negotiation", "timeout", "connect_timeout", "startup_timeout_sec"};

/// The members that only other clients know (Claude Code and Desktop, Cline, Codex, Cursor, FastMCP, Gemini CLI,
/// LiteLLM, llama-server, Roo, VS Code, Windsurf). They are of no effect here.
inline constexpr std::array<std::string_view, 48> foreign_entry_members{"type",
                                                                        "transport",
                                                                        "transportType",
                                                                        "enabled",
                                                                        "disabled",
                                                                        "required",
                                                                        "alwaysAllow",
                                                                        "alwaysLoad",
                                                                        "autoApprove",
                                                                        "trust",
                                                                        "tools",
                                                                        "includeTools",
                                                                        "excludeTools",
                                                                        "include_tags",
                                                                        "exclude_tags",
                                                                        "enabled_tools",
                                                                        "disabled_tools",
                                                                        "disabledTools",
                                                                        "timeout_ms",
                                                                        "startup_timeout_ms",
                                                                        "tool_timeout_sec",
                                                                        "initTimeout",
                                                                        "env_vars",
                                                                        "http_headers",
                                                                        "env_http_headers",
                                                                        "bearer_token_env_var",
                                                                        "headersHelper",
                                                                        "auth",
                                                                        "authentication",
                                                                        "authProviderType",
                                                                        "oauth",
                                                                        "oauthScopes",
                                                                        "scopes",
                                                                        "targetAudience",
                                                                        "targetServiceAccount",
                                                                        "sandboxEnabled",
                                                                        "watchPaths",
                                                                        "dev",
                                                                        "gallery",
                                                                        "extension",
                                                                        "source",
                                                                        "settings",
                                                                        "version",
                                                                        "icon",
                                                                        "icons",
                                                                        "name",
                                                                        "title",
                                                                        "description"};

template <std::size_t N>
bool is_one_of(std::array<std::string_view, N> const& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

/// Whether a package can have the name: the user is asked about nothing else.
inline result<void> check_new_server(std::string const& name) {
    if (auto const fits = mcp::detail::check_server_name(name); !fits) return failure(fits.error());
    return codegen::check_package_name(name);
}

/// Lists, objects and numbers that a client sent as JSON text, and numbers among the arguments of a program.
inline void read_texts(nlohmann::ordered_json& entry) {
    using pair = std::pair<std::string_view, std::string_view>;
    for (auto const& [name, type] :
         {pair("args", "array"), pair("env", "object"), pair("headers", "object"), pair("timeout", "number")}) {
        auto const found = entry.find(name);
        if (found == entry.end() || !found->is_string()) continue;
        if (auto value = mcp::detail::value_of_text(found->get_ref<std::string const&>(), type))
            *found = *std::move(value);
    }
    if (auto const args = entry.find("args"); args != entry.end() && args->is_array())
        for (auto& word : *args)
            if (word.is_number()) word = json_text(word);
}

/// The only entry of a whole `mcpServers` object, or the entry itself.
inline nlohmann::ordered_json unwrapped_entry(nlohmann::ordered_json given) {
    if (!given.is_object() || given.size() != 1 || given.begin().key() != "mcpServers") return given;
    auto& servers = given.begin().value();
    if (!servers.is_object() || servers.size() != 1) return given;
    return std::move(servers.begin().value());
}

/**
 * \brief The entry as it is judged, shown and used: its members in the order in which a person reads them.
 * \par Errors errc::invalid_argument — a member that no client's format has: such a text could speak to the person who
 * is asked
 */
inline result<nlohmann::ordered_json> read_server_entry(nlohmann::ordered_json const& given) {
    auto entry = unwrapped_entry(given);
    if (!entry.is_object()) return failure(errc::invalid_argument, "server_params: the entry is not an object");
    for (auto const& [name, value] : entry.items())
        if (!is_one_of(entry_members, name) && !is_one_of(foreign_entry_members, name))
            return failure(errc::invalid_argument,
                           "server_params: no client's format has a member " +
                               json_text(nlohmann::json(name.substr(0, whole_characters(name, 60)))) +
                               "; leave it out. Of effect are command, args, cwd, env, envFile, sandbox, timeout");
    read_texts(entry);
    auto ordered = nlohmann::ordered_json::object();
    auto const take = [&](std::string_view name) {
        auto const found = entry.find(name);
        if (found != entry.end() && !found->is_null()) ordered[std::string(name)] = *found;
    };
    for (auto const name : entry_members) take(name);
    for (auto const name : foreign_entry_members) take(name);
    return ordered;
}

} // namespace ipybox::detail
