#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipybox::http {

/// What the application configures of the sign-in at one MCP server.
struct oauth_settings {
    /// How a token is got.
    enum class grant_type {
        authorization_code, ///< a person signs in with a browser
        client_credentials  ///< the program signs in with its own `client_id` and `client_secret`
    };

    std::string name = {}; ///< of the server, for the command in texts of errors

    std::string client_id = {};           ///< of a client that is registered beforehand; empty: another way is found
    std::string client_secret = {};       ///< of that client; empty: it is a public one
    std::string client_metadata_url = {}; ///< an https address that serves the metadata document of this client
    std::string client_name = "ipybox";   ///< how the page of the sign-in calls this program

    std::vector<std::string> scopes = {}; ///< asked for in each sign-in; empty: those that the server names
    std::uint16_t redirect_port = 0;      ///< of the redirect to this machine; 0: any that is free
    grant_type grant = grant_type::authorization_code;
};

} // namespace ipybox::http
