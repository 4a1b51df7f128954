#pragma once

#include <ipybox/core/strict_json.hpp>
#include <ipybox/mcp/impl/characters.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/os/read_file.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace ipybox::mcp::detail {

/// The project that a file belongs to, as its editor sees it.
inline std::filesystem::path project_of(std::filesystem::path const& file) {
    std::error_code unknown;
    auto const absolute = std::filesystem::absolute(file, unknown);
    auto const directory = (unknown ? file : absolute).lexically_normal().parent_path();
    auto const name = directory.filename();
    return name == ".vscode" || name == ".cursor" ? directory.parent_path() : directory;
}

IPYBOX_DECL bool is_server_name(std::string_view name) noexcept {
    return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_word);
}

IPYBOX_DECL std::string nearest_server_name(std::string_view name) {
    std::string nearest;
    for (char const c : name) {
        bool const continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80; // a character of several bytes
        if (!continues) nearest.push_back(is_word(c) ? c : '_');
    }
    return is_server_name(nearest) ? nearest : "server_" + nearest;
}

IPYBOX_DECL result<void> check_server_name(std::string_view name) {
    if (is_server_name(name)) return {};
    return failure(errc::invalid_argument,
                   json_string(name) +
                       " cannot be the name of an MCP server: Python imports it, so it is a letter and then "
                       "letters, digits and _; try \"" +
                       nearest_server_name(name) + "\"");
}

/// Clients do not agree on how an entry is switched off, nor on whether the answer is a text.
inline bool is_switched_off(nlohmann::json const& entry) {
    auto const says = [&entry](char const* name, bool answer) {
        auto const found = entry.find(name);
        return found != entry.end() && (*found == answer || *found == (answer ? "true" : "false"));
    };
    return entry.is_object() && (says("disabled", true) || says("enabled", false) || says("isActive", false));
}

/// The object with the servers of a file; none where it has none.
inline nlohmann::json const* servers_in(nlohmann::json const& file) {
    for (auto const* const place : {"/mcpServers", "/servers", "/mcp/servers", "/context_servers"}) {
        nlohmann::json::json_pointer const pointer(place);
        if (file.contains(pointer)) return file[pointer].is_object() ? &file[pointer] : nullptr;
    }
    return nullptr;
}

/// The advice for a file of another kind; empty: it is not known.
inline std::string advice_about(std::filesystem::path const& file, std::string_view text) {
    if (file.extension() != ".toml" && text.find("[mcp_servers.") == text.npos) return {};
    return R"(; this looks like TOML, as Codex has it: write its servers as {"mcpServers": {"NAME": {"command": …}}})";
}

IPYBOX_DECL result<std::vector<named_server>> read_server_file(std::filesystem::path const& file) {
    constexpr std::size_t longest = std::size_t(16) << 20;
    auto const text = os::read_file(file, "reading " + file.string(), longest);
    if (!text) return failure(text.error());
    auto const wrong = [&file](std::string what) {
        return failure(errc::invalid_argument, file.string() + ": " + std::move(what));
    };
    auto const parsed = ipybox::detail::parse_strictly(*text, file.string(), ipybox::detail::json_dialect::of_editors);
    if (!parsed) return failure(errc::invalid_argument, parsed.error().text() + advice_about(file, *text));
    if (!parsed->is_object())
        return failure(errc::invalid_argument, file.string() + ":1:1: an object is wanted, with `mcpServers` in it");

    auto const* const servers = servers_in(*parsed);
    if (!servers)
        return wrong(
            R"(there is no object with servers; a file is read as {"mcpServers": {"NAME": {"command": …}}}, and )"
            "with `servers`, `mcp`/`servers` or `context_servers` in the place of `mcpServers`");

    std::vector<named_server> list;
    for (auto const& [name, entry] : servers->items()) {
        if (is_switched_off(entry)) continue;
        auto params = server_params::read(entry);
        if (params) params->project = project_of(file);
        list.push_back({nearest_server_name(name), std::move(params), name});
    }
    std::ranges::sort(
        list, [](auto const& a, auto const& b) { return std::tie(a.name, a.written) < std::tie(b.name, b.written); });
    auto const twice =
        std::adjacent_find(list.begin(), list.end(), [](auto const& a, auto const& b) { return a.name == b.name; });
    if (twice == list.end()) return list;
    return wrong("both " + json_string(twice->written) + " and " + json_string((twice + 1)->written) +
                 " would be registered as " + twice->name + ": rename one of them");
}

} // namespace ipybox::mcp::detail
