#include <ipybox/http/oauth_grant.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace ipybox::http;
using ipybox::errc;
using ipybox::test::contains;

TEST_CASE("oauth_grant: written and read") {
    oauth_grant full;
    full.issuer = "https://a";
    full.client = oauth_client();
    full.client->id = "c";
    full.client->secret = "s";
    full.client->secret_expires = std::chrono::system_clock::time_point(std::chrono::seconds(5));
    full.client->authentication = client_authentication::client_secret_post;
    full.client->redirect_uri = "http://127.0.0.1:1/callback";
    full.client->is_registered = true;
    full.tokens = oauth_tokens();
    full.tokens->access = "at";
    full.tokens->refresh = "rt";
    full.tokens->scope = "x y";
    full.tokens->expires = std::chrono::system_clock::time_point(std::chrono::seconds(1'900'000'000));
    oauth_grant bare;
    bare.issuer = "https://b";
    std::vector<oauth_grant> const grants{full, bare};
    auto const read = read_grants(write_grants("https://s/mcp", grants), "https://s/mcp", "f");
    REQUIRE(read);
    CHECK(*read == grants);
}

TEST_CASE("oauth_grant: texts that are none, which are not quoted") {
    for (
        std::string const text :
        {"", "{}", "[]", "{\"grants\":[]}", R"({"version":2,"server":"s","grants":[]})",
         R"({"version":1,"server":"other","grants":[]})", R"({"version":1,"server":"s","grants":["secret"]})",
         R"({"version":1,"server":"s","grants":[{"issuer":"i","tokens":{"refresh_token":"secret"}}]})",
         R"({"version":1,"server":"s","grants":[{"issuer":"i","tokens":{"access_token":"secret","expires_at":-1}}]})",
         R"({"version":1,"server":"s","grants":[{"issuer":"i","client":{"client_id":"secret","token_endpoint_auth_method":"x"}}]})",
         R"({"version":1,"server":"s","grants":[{"issuer":"i","client":"secret"}]})",
         R"({"version":1,"server":"s","grants":[{"tokens":{"access_token":"secret"}}]})"}) {
        INFO(text);
        auto const read = read_grants(text, "s", "the file f");
        REQUIRE_FALSE(read);
        CHECK(read.error() == errc::invalid_argument);
        CHECK(contains(read.error().text(), "the file f "));
        CHECK(read.error().text().find("secret") == std::string::npos);
    }
}
