#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/http/impl/json_members.hpp>
#include <ipybox/http/oauth_metadata.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ipybox::http {
namespace detail {

/// The path without a slash at its end.
inline std::string bare_path(url const& address) {
    auto path = address.path();
    while (path.ends_with('/')) path.pop_back();
    return path;
}

} // namespace detail

/// RFC 9728 section 3.1: the well-known part goes between host and path.
IPYBOX_DECL std::vector<std::string> resource_metadata_addresses(url const& server) {
    auto const base = server.origin() + "/.well-known/oauth-protected-resource";
    auto const path = detail::bare_path(server);
    if (path.empty()) return {base};
    return {base + path, base};
}

/// MCP 2025-11-25, "Authorization Server Metadata Discovery".
IPYBOX_DECL std::vector<std::string> authorization_server_addresses(url const& issuer) {
    auto const origin = issuer.origin();
    auto const path = detail::bare_path(issuer);
    std::vector<std::string> addresses{origin + "/.well-known/oauth-authorization-server" + path,
                                       origin + "/.well-known/openid-configuration" + path};
    if (!path.empty()) addresses.push_back(origin + path + "/.well-known/openid-configuration");
    return addresses;
}

IPYBOX_DECL std::optional<resource_metadata> read_resource_metadata(std::string_view text) {
    auto const whole = read_json(text).value_or(nullptr);
    if (!whole.is_object()) return std::nullopt;
    resource_metadata made;
    made.resource = detail::text_in(whole, "resource");
    made.authorization_servers = detail::texts_in(whole, "authorization_servers").value_or(std::vector<std::string>());
    made.scopes = detail::texts_in(whole, "scopes_supported").value_or(std::vector<std::string>());
    if (made.resource.empty()) return std::nullopt;
    return made;
}

IPYBOX_DECL std::optional<authorization_server_metadata> read_authorization_server(std::string_view text) {
    auto const whole = read_json(text).value_or(nullptr);
    if (!whole.is_object()) return std::nullopt;
    authorization_server_metadata made;
    made.issuer = detail::text_in(whole, "issuer");
    made.authorization_endpoint = detail::text_in(whole, "authorization_endpoint");
    made.token_endpoint = detail::text_in(whole, "token_endpoint");
    made.registration_endpoint = detail::text_in(whole, "registration_endpoint");
    made.scopes = detail::texts_in(whole, "scopes_supported").value_or(std::vector<std::string>());
    made.token_authentication = detail::texts_in(whole, "token_endpoint_auth_methods_supported");
    auto const methods = detail::texts_in(whole, "code_challenge_methods_supported");
    made.has_s256 = methods && std::ranges::find(*methods, "S256") != methods->end();
    made.has_issuer_in_redirect = detail::flag_in(whole, "authorization_response_iss_parameter_supported");
    made.takes_client_metadata_url = detail::flag_in(whole, "client_id_metadata_document_supported");
    if (made.issuer.empty()) return std::nullopt;
    return made;
}

IPYBOX_DECL bool covers(std::string_view resource, url const& server) {
    auto const wide = url::parse(resource);
    if (!wide || wide->origin() != server.origin() || resource.find('#') != std::string_view::npos) return false;
    if (resource.find('?') != std::string_view::npos) return *wide == server;
    auto const above = detail::bare_path(*wide);
    auto const path = detail::bare_path(server);
    return path == above || path.starts_with(above + "/");
}

} // namespace ipybox::http
