#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// How a client proves to an authorization server who it is: RFC 7591 section 2.
enum class client_authentication { none, client_secret_post, client_secret_basic };

/// The enumerator's own name, as the protocol spells it.
[[nodiscard]] std::string_view to_string(client_authentication how) noexcept;

/// The inverse; none for a way that is not supported.
[[nodiscard]] std::optional<client_authentication> client_authentication_of(std::string_view name) noexcept;

/// This program, as an authorization server knows it.
struct oauth_client {
    std::string id = {};
    std::string secret = {}; ///< empty: a public client
    std::optional<std::chrono::system_clock::time_point> secret_expires = {};
    std::optional<client_authentication> authentication = {}; ///< none: as the server's metadata say
    std::string redirect_uri = {};                            ///< registered with it
    bool is_registered = false;                               ///< dynamically: it can be registered anew

    friend bool operator==(oauth_client const&, oauth_client const&) = default;
};

/// The tokens for the requests to one server.
struct oauth_tokens {
    std::string access = {};
    std::string refresh = {}; ///< empty: none
    std::string scope = {};   ///< granted, as far as the server says so, else the scope that was asked for
    std::optional<std::chrono::system_clock::time_point> expires = {}; ///< none: it is not known

    friend bool operator==(oauth_tokens const&, oauth_tokens const&) = default;
};

/// All that one authorization server gave for one MCP server.
struct oauth_grant {
    std::string issuer = {}; ///< the authorization server
    std::optional<oauth_client> client = {};
    std::optional<oauth_tokens> tokens = {};

    friend bool operator==(oauth_grant const&, oauth_grant const&) = default;
};

/// The grants of one MCP server as a JSON text, which a store keeps. \param server its address
[[nodiscard]] std::string write_grants(std::string_view server, std::vector<oauth_grant> const& grants);

/**
 * \brief The inverse.
 * \param name what the texts of errors call the text; they never quote it, for it has secrets in it
 * \par Errors errc::invalid_argument — it is not such a text, or one of another server
 */
[[nodiscard]] result<std::vector<oauth_grant>> read_grants(std::string_view text, std::string_view server,
                                                           std::string_view name);

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/oauth_grant.ipp>
#endif
