#include <ipybox/http/oauth_metadata.hpp>

#include <support/catch.hpp>

#include <string>
#include <vector>

using namespace ipybox::http;
using addresses = std::vector<std::string>;

namespace {

url at(std::string const& text) { return url::parse(text).value(); }

} // namespace

TEST_CASE("oauth_metadata: where documents are") {
    CHECK(resource_metadata_addresses(at("https://h:1/public/mcp")) ==
          addresses{"https://h:1/.well-known/oauth-protected-resource/public/mcp",
                    "https://h:1/.well-known/oauth-protected-resource"});
    CHECK(resource_metadata_addresses(at("https://h/")) == addresses{"https://h/.well-known/oauth-protected-resource"});
    CHECK(authorization_server_addresses(at("https://h")) ==
          addresses{"https://h/.well-known/oauth-authorization-server", "https://h/.well-known/openid-configuration"});
    CHECK(authorization_server_addresses(at("https://h/t1/")) ==
          addresses{"https://h/.well-known/oauth-authorization-server/t1",
                    "https://h/.well-known/openid-configuration/t1", "https://h/t1/.well-known/openid-configuration"});
}

TEST_CASE("oauth_metadata: documents") {
    auto const resource = read_resource_metadata(
        R"({"resource":"https://h/mcp","authorization_servers":["https://a",1,""],"scopes_supported":["x","y"]})");
    REQUIRE(resource);
    CHECK(resource->authorization_servers == addresses{"https://a"});
    CHECK(resource->scopes == addresses{"x", "y"});
    CHECK_FALSE(read_resource_metadata("[]"));
    CHECK_FALSE(read_resource_metadata("<html>"));
    CHECK_FALSE(read_resource_metadata(R"({"resource":1})"));
    auto const server = read_authorization_server(
        R"({"issuer":"https://a","code_challenge_methods_supported":["plain","S256"],"token_endpoint":7})");
    REQUIRE(server);
    CHECK(server->has_s256);
    CHECK(server->token_endpoint.empty());
    CHECK_FALSE(server->token_authentication);
    CHECK_FALSE(server->has_issuer_in_redirect);
    CHECK_FALSE(read_authorization_server("{}"));
    CHECK_FALSE(
        read_authorization_server(R"({"issuer":"https://a","code_challenge_methods_supported":"S256"})")->has_s256);
}

TEST_CASE("oauth_metadata: the resource of a server") {
    auto const server = at("https://host/a/mcp");
    CHECK(covers("https://host/a/mcp", server));
    CHECK(covers("https://HOST:443/a/mcp/", server));
    CHECK(covers("https://host", server));
    CHECK(covers("https://host/a", server));
    CHECK_FALSE(covers("https://host/a/mc", server));
    CHECK_FALSE(covers("https://host/a/mcp/more", server));
    CHECK_FALSE(covers("http://host/a/mcp", server));
    CHECK_FALSE(covers("https://host:444/a/mcp", server));
    CHECK_FALSE(covers("https://host.evil/a/mcp", server));
    CHECK_FALSE(covers("https://host/a/mcp#x", server));
    CHECK_FALSE(covers("https://host/a/mcp?x=1", server));
    CHECK_FALSE(covers("https://evil/../host/a/mcp", server));
    CHECK_FALSE(covers("", server));
}
