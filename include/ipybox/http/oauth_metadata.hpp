#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/url.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// How an MCP server describes itself as a protected resource: RFC 9728 section 2.
struct resource_metadata {
    std::string resource = {};
    std::vector<std::string> authorization_servers = {}; ///< their issuers; the first one is used
    std::vector<std::string> scopes = {};
};

/// How an authorization server describes itself: RFC 8414 section 2, and OpenID Connect Discovery 1.0.
struct authorization_server_metadata {
    std::string issuer = {};
    std::string authorization_endpoint = {};
    std::string token_endpoint = {};
    std::string registration_endpoint = {}; ///< empty: clients cannot be registered
    std::vector<std::string> scopes = {};
    std::optional<std::vector<std::string>> token_authentication = {}; ///< none: it is not said
    bool has_s256 = false;                                             ///< of PKCE: RFC 7636
    bool has_issuer_in_redirect = false;                               ///< RFC 9207
    bool takes_client_metadata_url = false;                            ///< a client id may be the address of a document
};

/// Where the metadata of a server may be, in the order of tries: for its path, then at the root.
[[nodiscard]] std::vector<std::string> resource_metadata_addresses(url const& server);

/// Where the metadata of an authorization server may be, in the order of tries.
[[nodiscard]] std::vector<std::string> authorization_server_addresses(url const& issuer);

/// Reads a document; none where it is not one.
[[nodiscard]] std::optional<resource_metadata> read_resource_metadata(std::string_view text);

/// \copydoc read_resource_metadata
[[nodiscard]] std::optional<authorization_server_metadata> read_authorization_server(std::string_view text);

/// Whether a token for that resource is one for the server: it has the same origin, and its path leads to the server.
[[nodiscard]] bool covers(std::string_view resource, url const& server);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/oauth_metadata.ipp>
#endif
