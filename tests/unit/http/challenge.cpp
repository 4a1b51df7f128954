#include <ipybox/http/challenge.hpp>

#include <support/catch.hpp>

#include <string>
#include <string_view>

using ipybox::http::bearer_challenge_of;
using ipybox::http::fields;
using ipybox::http::parse_challenges;

namespace {

/// Challenges as one line: "scheme(name=value,...)".
std::string shown(std::string_view field) {
    std::string text;
    auto const all = parse_challenges(field);
    for (auto const& each : all) {
        text += each.scheme + "(";
        for (auto const& [name, value] : each.parameters.all()) text += name + "=" + value + ",";
        text += ")";
    }
    return text;
}

} // namespace

TEST_CASE("challenge: schemes and their parameters") {
    CHECK(shown("Bearer") == "bearer()");
    CHECK(shown("Bearer realm=\"a, b\", scope=\"x y\"") == "bearer(realm=a, b,scope=x y,)");
    CHECK(shown("Basic realm=\"simple\", Bearer error=invalid_token") ==
          "basic(realm=simple,)bearer(error=invalid_token,)");
    CHECK(shown("Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"") ==
          "newauth(realm=apps,type=1,title=Login to \"apps\",)basic(realm=simple,)");
    CHECK(shown("Negotiate, Bearer a=b") == "negotiate()bearer(a=b,)");
    CHECK(shown("Negotiate abc+/==, Bearer a=b") == "negotiate()bearer(a=b,)");
    CHECK(shown(" , ,BEARER  a = \"b\" , , c=d ,") == "bearer(a=b,c=d,)");
}

TEST_CASE("challenge: malformed fields") {
    CHECK(shown("") == "");
    CHECK(shown("=") == "");
    CHECK(shown("a=b") == "");
    CHECK(shown("Bearer a=\"open") == "bearer()");
    CHECK(shown("Bearer a=\"open\\") == "bearer()");
    CHECK(shown("Bearer a=\"b\"c, d=e") == "bearer(a=b,)");
    CHECK(shown("Bearer a=b, c=") == "bearer(a=b,)");
    CHECK(shown("Bearer a=b, \x01") == "bearer(a=b,)");
    CHECK(shown(std::string(100'000, '"')) == "");
    CHECK(shown(std::string(100'000, ',')) == "");
}

TEST_CASE("challenge: the one for bearer tokens") {
    fields headers;
    headers.add("WWW-Authenticate", "Basic realm=x, scope=no");
    headers.add("www-authenticate", "DPoP algs=\"ES256\", Bearer Error=\"insufficient_scope\", scope=\"a b\", "
                                    "resource_metadata=\"https://host/.well-known/x?y=1,2\"");
    auto const found = bearer_challenge_of(headers);
    CHECK(found.error == "insufficient_scope");
    CHECK(found.scope == "a b");
    CHECK(found.resource_metadata == "https://host/.well-known/x?y=1,2");
    CHECK(bearer_challenge_of(fields()).scope.empty());
}
