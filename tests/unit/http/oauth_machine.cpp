#include <ipybox/http/form.hpp>
#include <ipybox/http/impl/oauth_text.hpp>
#include <ipybox/http/oauth_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace ipybox::http;
using namespace std::chrono_literals;
using ipybox::errc;
using ipybox::result;
using ipybox::test::contains;
using nlohmann::json;
using action = oauth_machine::action;
using mode = oauth_machine::mode;

namespace {

auto const now = std::chrono::system_clock::time_point(1'700'000'000s);

json resource_document() {
    return {{"resource", "https://host/mcp"},
            {"authorization_servers", {"https://as/t"}},
            {"scopes_supported", {"read", "list"}}};
}

json server_document() {
    return {{"issuer", "https://as/t"},
            {"authorization_endpoint", "https://as/t/authorize?tenant=1"},
            {"token_endpoint", "https://as/t/token"},
            {"registration_endpoint", "https://as/t/register"},
            {"code_challenge_methods_supported", {"S256"}},
            {"token_endpoint_auth_methods_supported", {"none"}},
            {"authorization_response_iss_parameter_supported", true}};
}

/// A machine and the other sides, as documents.
struct dialogue {
    explicit dialogue(mode how = mode::interactive) : how_(how) {}

    /// Runs up to the action; false: the machine failed before.
    bool run_to(action wanted) {
        if (!machine) {
            machine.emplace(settings, url::parse(server).value(), how_);
            step = machine->begin(why);
        }
        for (int steps = 0; step && *step != wanted; ++steps) {
            REQUIRE(steps < 30);
            advance();
        }
        return step.has_value();
    }

    void advance() {
        switch (*step) {
        case action::send: answer(); break;
        case action::look_up: step = machine->take_grant(kept, now); break;
        case action::open_redirect: step = machine->take_redirect_uri("http://127.0.0.1:5/callback"); break;
        case action::sign_in: step = machine->take_redirect(redirect()); break;
        case action::done: break;
        }
    }

    void answer() {
        auto const& request = machine->to_send();
        sent.push_back(request);
        auto const& at = request.url;
        auto const found = documents.find(at);
        if (at == "https://as/t/token")
            step = machine->take_answer(token_status, token.dump(), now);
        else if (at == "https://as/t/register")
            step = machine->take_answer(201, registration.dump(), now);
        else if (found != documents.end())
            step = machine->take_answer(200, found->second, now);
        else
            step = machine->take_answer(404, "<html>", now);
    }

    std::string redirect() const {
        if (!redirect_query.empty()) return redirect_query;
        return write_form(fields{{"code", "c0de"}, {"state", machine->state()}, {"iss", "https://as/t"}});
    }

    fields asked() const { // in the address of the sign-in
        auto const address = machine->sign_in_address();
        return parse_form(address.substr(address.find('?') + 1));
    }
    fields form() const { return parse_form(sent.back().body ? *sent.back().body : std::string()); }
    std::string error() const { return step ? "none" : std::string(step.error().name()) + " " + step.error().text(); }

    std::string server = "https://host/mcp";
    oauth_settings settings;
    oauth_machine::cause why;
    std::map<std::string, std::string> documents{
        {"https://host/.well-known/oauth-protected-resource/mcp", resource_document().dump()},
        {"https://as/.well-known/oauth-authorization-server/t", server_document().dump()}};
    json registration = {{"client_id", "registered"}};
    json token = {{"access_token", "t0ken"}, {"token_type", "Bearer"}, {"expires_in", 60}, {"refresh_token", "r1"}};
    int token_status = 200;
    std::string redirect_query;
    std::optional<oauth_grant> kept;
    std::optional<oauth_machine> machine;
    result<action> step = action::done;
    std::vector<request> sent;

  private:
    mode how_;
};

oauth_grant kept_grant() {
    oauth_grant made;
    made.issuer = "https://as/t";
    made.client = oauth_client();
    made.client->id = "old";
    made.client->is_registered = true;
    made.client->redirect_uri = "http://127.0.0.1:5/callback";
    made.tokens = oauth_tokens();
    made.tokens->access = "a0";
    made.tokens->refresh = "r0";
    made.tokens->scope = "read";
    return made;
}

} // namespace

TEST_CASE("oauth_machine: registration, sign-in and token") {
    dialogue one;
    REQUIRE(one.run_to(action::open_redirect));
    CHECK(one.machine->wanted_redirect().empty());
    CHECK(one.machine->issuer() == "https://as/t");
    REQUIRE(one.run_to(action::sign_in));
    auto const registered = json::parse(*one.sent.back().body);
    CHECK(registered["application_type"] == "native");
    CHECK(registered["redirect_uris"] == json{"http://127.0.0.1:5/callback"});
    CHECK(registered["token_endpoint_auth_method"] == "none");
    CHECK(one.machine->grant().client->id == "registered");
    CHECK(contains(one.machine->sign_in_address(), "https://as/t/authorize?tenant=1&response_type=code&"));
    auto const asked = one.asked();
    CHECK(asked.find("client_id") == "registered");
    CHECK(asked.find("code_challenge_method") == "S256");
    CHECK(asked.find("code_challenge").size() == 43);
    CHECK(asked.find("state").size() == 43);
    CHECK(asked.find("scope") == "read list");
    CHECK(asked.find("resource") == "https://host/mcp");
    CHECK(asked.find("redirect_uri") == "http://127.0.0.1:5/callback");
    CHECK(asked.find("prompt").empty());
    REQUIRE(one.run_to(action::done));
    auto const form = one.form();
    CHECK(form.find("grant_type") == "authorization_code");
    CHECK(form.find("code") == "c0de");
    CHECK(form.find("resource") == "https://host/mcp");
    CHECK(form.find("client_id") == "registered");
    CHECK(form.find("redirect_uri") == "http://127.0.0.1:5/callback");
    CHECK(form.find("code_verifier").size() == 43);
    CHECK(one.sent.back().headers.find("Content-Type") == "application/x-www-form-urlencoded");
    auto const tokens = *one.machine->grant().tokens;
    CHECK(tokens.access == "t0ken");
    CHECK(tokens.refresh == "r1");
    CHECK(tokens.scope == "read list");
    CHECK(tokens.expires == now + 60s);
}

TEST_CASE("oauth_machine: PKCE as in RFC 7636 appendix B") {
    CHECK(ipybox::http::detail::code_challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") ==
          "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST_CASE("oauth_machine: where metadata are") {
    dialogue named;
    named.why.challenge.resource_metadata = "https://host/custom";
    named.documents["https://host/custom"] = resource_document().dump();
    REQUIRE(named.run_to(action::look_up));
    CHECK(named.sent.at(0).url == "https://host/custom");

    dialogue root;
    root.documents.clear();
    root.documents["https://host/.well-known/oauth-protected-resource"] = resource_document().dump();
    root.documents["https://as/t/.well-known/openid-configuration"] = server_document().dump();
    REQUIRE(root.run_to(action::look_up));
    CHECK(root.sent.size() == 5);

    dialogue old; // 2025-03-26
    old.documents.clear();
    auto document = server_document();
    document["issuer"] = "https://host";
    old.documents["https://host/.well-known/oauth-authorization-server"] = document.dump();
    REQUIRE(old.run_to(action::sign_in));
    CHECK(old.asked().find("resource") == "https://host/mcp");

    dialogue missing;
    missing.why.challenge.resource_metadata = "https://host/missing";
    CHECK_FALSE(missing.run_to(action::look_up));
    CHECK(contains(missing.error(), "protocol_error names metadata that are not there: https://host/missing"));

    dialogue nothing;
    nothing.documents.clear();
    CHECK_FALSE(nothing.run_to(action::look_up));
    CHECK(contains(nothing.error(),
                   "mcp_unauthorized cannot be signed in to: its authorization server https://host/ has"));
}

TEST_CASE("oauth_machine: documents that are not used") {
    struct {
        std::string where;
        json change;
        std::string expected;
    } const cases[] = {
        {"r", {{"resource", "https://evil/mcp"}}, "protocol_error has metadata of another resource: https://evil/mcp"},
        {"r", {{"resource", "https://host/mcp/other"}}, "has metadata of another resource"},
        {"r", {{"authorization_servers", json::array()}}, "protocol_error names no authorization server"},
        {"r", {{"authorization_servers", {"http://as/t"}}}, "has to be reached over https: http://as/t"},
        {"r", {{"authorization_servers", {"https://127.0.0.1/t"}}}, "is an address of this machine"},
        {"r", {{"authorization_servers", {"http://localhost:1/t"}}}, "is an address of this machine"},
        {"r", {{"authorization_servers", {"https://as/t?x=y"}}}, "whose address has a query"},
        {"r", {{"authorization_servers", {"file:///etc/passwd"}}}, "names an address that cannot be used"},
        {"s", {{"issuer", "https://as/t/"}}, "protocol_error has an authorization server that says that it is another"},
        {"s", {{"issuer", "https://AS/t"}}, "protocol_error has an authorization server that says that it is another"},
        {"s", {{"code_challenge_methods_supported", {"plain"}}}, "mcp_unauthorized cannot be signed in to: its author"},
        {"s", {{"code_challenge_methods_supported", nullptr}}, "does not say that it supports PKCE with S256"},
        {"s", {{"token_endpoint", "http://as/token"}}, "since the token endpoint has to be reached over https"},
        {"s", {{"token_endpoint", nullptr}}, "names an address that cannot be used for the token endpoint"},
        {"s", {{"authorization_endpoint", "javascript:alert(1)"}}, "cannot be used for the page of the sign-in"},
        {"s", {{"registration_endpoint", "http://as/r"}}, "since the registration of clients has to be reached over"},
        {"s",
         {{"registration_endpoint", nullptr}},
         "registers no clients by itself; register ipybox with https://as/t"},
    };
    for (auto const& each : cases) {
        INFO(each.where << each.change.dump());
        dialogue one;
        auto document = each.where == "r" ? resource_document() : server_document();
        document.merge_patch(each.change);
        one.documents[each.where == "r" ? "https://host/.well-known/oauth-protected-resource/mcp"
                                        : "https://as/.well-known/oauth-authorization-server/t"] = document.dump();
        CHECK_FALSE(one.run_to(action::sign_in));
        CHECK(contains(one.error(), each.expected));
    }
    dialogue plain;
    plain.server = "http://host/mcp";
    CHECK_FALSE(plain.run_to(action::look_up));
    CHECK(contains(plain.error(), "since it has to be reached over https: http://host/mcp"));
    dialogue near;
    near.why.challenge.resource_metadata = "http://169.254.169.254/latest";
    CHECK_FALSE(near.run_to(action::look_up));
    CHECK(near.sent.empty());
}

TEST_CASE("oauth_machine: servers of this machine need no TLS") {
    dialogue one;
    one.server = "http://127.0.0.1:9/mcp";
    auto resource = resource_document();
    resource["resource"] = "http://127.0.0.1:9";
    resource["authorization_servers"] = {"http://localhost:8"};
    auto server = server_document();
    server["issuer"] = "http://localhost:8";
    one.documents["http://127.0.0.1:9/.well-known/oauth-protected-resource/mcp"] = resource.dump();
    one.documents["http://localhost:8/.well-known/oauth-authorization-server"] = server.dump();
    REQUIRE(one.run_to(action::sign_in));
    CHECK(one.asked().find("resource") == "http://127.0.0.1:9");
}

TEST_CASE("oauth_machine: clients by priority") {
    auto document = server_document();
    document["client_id_metadata_document_supported"] = true;
    auto const place = std::string("https://as/.well-known/oauth-authorization-server/t");

    dialogue configured;
    configured.documents[place] = document.dump();
    configured.settings.client_id = "mine";
    configured.settings.client_metadata_url = "https://ipybox.example/client.json";
    REQUIRE(configured.run_to(action::sign_in));
    CHECK(configured.asked().find("client_id") == "mine");

    dialogue by_document;
    by_document.documents[place] = document.dump();
    by_document.settings.client_metadata_url = "https://ipybox.example/client.json";
    REQUIRE(by_document.run_to(action::sign_in));
    CHECK(by_document.asked().find("client_id") == "https://ipybox.example/client.json");

    dialogue unsupported;
    unsupported.settings.client_metadata_url = "https://ipybox.example/client.json";
    REQUIRE(unsupported.run_to(action::sign_in));
    CHECK(unsupported.asked().find("client_id") == "registered");

    dialogue known;
    known.kept = kept_grant();
    known.kept->tokens.reset();
    REQUIRE(known.run_to(action::sign_in));
    CHECK(known.asked().find("client_id") == "old");
    CHECK(known.machine->wanted_redirect() == "http://127.0.0.1:5/callback");

    dialogue other_port;
    other_port.kept = known.kept;
    other_port.kept->client->redirect_uri = "http://127.0.0.1:6/callback";
    REQUIRE(other_port.run_to(action::sign_in));
    CHECK(other_port.asked().find("client_id") == "registered");

    dialogue expired;
    expired.kept = known.kept;
    expired.kept->client->secret_expires = now;
    REQUIRE(expired.run_to(action::sign_in));
    CHECK(expired.asked().find("client_id") == "registered");

    dialogue migrated; // the server has another authorization server now
    migrated.kept = kept_grant();
    migrated.kept->issuer = "https://as/other";
    REQUIRE(migrated.run_to(action::sign_in));
    CHECK(migrated.asked().find("client_id") == "registered");
}

TEST_CASE("oauth_machine: client authentication") {
    struct {
        json ways;
        json registered;
        std::string expected;
    } const cases[] = {
        {{"client_secret_post"}, {{"client_id", "i d"}, {"client_secret", "s:1"}}, "post"},
        {{"client_secret_basic"}, {{"client_id", "i d"}, {"client_secret", "s:1"}}, "basic"},
        {{"client_secret_post", "client_secret_basic"}, {{"client_id", "i d"}, {"client_secret", "s:1"}}, "basic"},
        {nullptr, {{"client_id", "i d"}, {"client_secret", "s:1"}}, "basic"},
        {{"client_secret_basic"},
         {{"client_id", "i d"}, {"client_secret", "s:1"}, {"token_endpoint_auth_method", "client_secret_post"}},
         "post"},
        {{"none"}, {{"client_id", "i d"}, {"token_endpoint_auth_method", "none"}}, "none"},
    };
    for (auto const& each : cases) {
        INFO(each.ways.dump() << each.registered.dump());
        dialogue one;
        auto document = server_document();
        document.erase("token_endpoint_auth_methods_supported");
        if (!each.ways.is_null()) document["token_endpoint_auth_methods_supported"] = each.ways;
        one.documents["https://as/.well-known/oauth-authorization-server/t"] = document.dump();
        one.registration = each.registered;
        REQUIRE(one.run_to(action::done));
        auto const form = one.form();
        auto const authorization = std::string(one.sent.back().headers.find("Authorization"));
        CHECK(form.find("client_secret") == (each.expected == "post" ? "s:1" : ""));
        CHECK(form.find("client_id") == (each.expected == "basic" ? "" : "i d"));
        CHECK(authorization == (each.expected == "basic" ? "Basic aSUyMGQ6cyUzQTE=" : "")); // i%20d:s%3A1
    }
    dialogue unknown;
    unknown.registration = {{"client_id", "x"}, {"token_endpoint_auth_method", "private_key_jwt"}};
    CHECK_FALSE(unknown.run_to(action::sign_in));
    CHECK(contains(unknown.error(), "wants a client authentication that ipybox does not have: private_key_jwt"));
    dialogue nameless;
    nameless.registration = json::array();
    CHECK_FALSE(nameless.run_to(action::sign_in));
    CHECK(contains(nameless.error(), "registered ipybox without a client id"));
}

TEST_CASE("oauth_machine: scopes") {
    dialogue challenged;
    challenged.why.challenge.scope = "write write";
    REQUIRE(challenged.run_to(action::sign_in));
    CHECK(challenged.asked().find("scope") == "write");

    dialogue configured;
    configured.settings.scopes = {"mine"};
    configured.why.challenge.scope = "write";
    REQUIRE(configured.run_to(action::sign_in));
    CHECK(configured.asked().find("scope") == "mine write");

    dialogue none;
    auto resource = resource_document();
    resource.erase("scopes_supported");
    none.documents["https://host/.well-known/oauth-protected-resource/mcp"] = resource.dump();
    REQUIRE(none.run_to(action::sign_in));
    CHECK(none.asked().find_all("scope").empty());

    dialogue offline;
    auto server = server_document();
    server["scopes_supported"] = {"read", "offline_access"};
    offline.documents["https://as/.well-known/oauth-authorization-server/t"] = server.dump();
    REQUIRE(offline.run_to(action::sign_in));
    CHECK(offline.asked().find("scope") == "read list offline_access");
    CHECK(offline.asked().find("prompt") == "consent");

    dialogue wider; // a step-up does not refresh, which cannot widen
    wider.kept = kept_grant();
    wider.why.scope = "read";
    wider.why.challenge.scope = "write";
    wider.why.challenge.error = "insufficient_scope";
    REQUIRE(wider.run_to(action::sign_in));
    CHECK(wider.asked().find("scope") == "write read");
    CHECK(wider.machine->scope() == "write read");
}

TEST_CASE("oauth_machine: redirects that are not accepted") {
    struct {
        std::string query;
        std::string expected;
    } const cases[] = {
        {"code=c&state=other&iss=https%3A%2F%2Fas%2Ft", "protocol_error was not signed in to: the redirect belongs to"},
        {"code=c&iss=https%3A%2F%2Fas%2Ft", "the redirect belongs to another sign-in"},
        {"code=c&state=STATE", "protocol_error was not signed in to: the redirect does not come from https://as/t"},
        {"code=c&state=STATE&iss=https%3A%2F%2Fas%2Ft%2F", "the redirect does not come from https://as/t"},
        {"error=access_denied&state=STATE&iss=https%3A%2F%2Fevil", "the redirect does not come from https://as/t"},
        {"code=c&code=d&state=STATE&iss=https%3A%2F%2Fas%2Ft", "the redirect has more than one `code`"},
        {"state=STATE&iss=https%3A%2F%2Fas%2Ft", "the redirect has no code"},
        {"error=access_denied&error_description=you%0Asaid%20no&state=STATE&iss=https%3A%2F%2Fas%2Ft",
         "mcp_unauthorized was not signed in to: the authorization server answered access_denied: you?said no"},
    };
    for (auto const& each : cases) {
        dialogue one;
        REQUIRE(one.run_to(action::sign_in));
        one.redirect_query = each.query;
        if (auto const at = each.query.find("STATE"); at != std::string::npos)
            one.redirect_query.replace(at, 5, one.machine->state());
        INFO(each.query);
        CHECK_FALSE(one.run_to(action::done));
        CHECK(contains(one.error(), each.expected));
    }
    dialogue silent; // the server does not say that it names itself
    auto document = server_document();
    document.erase("authorization_response_iss_parameter_supported");
    silent.documents["https://as/.well-known/oauth-authorization-server/t"] = document.dump();
    REQUIRE(silent.run_to(action::sign_in));
    silent.redirect_query = "code=c&state=" + silent.machine->state();
    CHECK(silent.run_to(action::done));
}

TEST_CASE("oauth_machine: refresh") {
    dialogue one(mode::unattended);
    one.kept = kept_grant();
    one.token.erase("refresh_token");
    REQUIRE(one.run_to(action::done));
    CHECK(one.form().find("grant_type") == "refresh_token");
    CHECK(one.form().find("refresh_token") == "r0");
    CHECK(one.form().find("resource") == "https://host/mcp");
    CHECK(one.form().find("client_id") == "old");
    CHECK(one.machine->grant().tokens->access == "t0ken");
    CHECK(one.machine->grant().tokens->refresh == "r0");
    CHECK(one.machine->grant().tokens->scope == "read");

    dialogue refused(mode::unattended);
    refused.settings.name = "s";
    refused.kept = kept_grant();
    refused.token = {{"error", "invalid_grant"}};
    refused.token_status = 400;
    CHECK_FALSE(refused.run_to(action::done));
    CHECK(refused.error() == "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    CHECK_FALSE(refused.machine->grant().tokens);
    CHECK(refused.machine->grant().client);

    dialogue down(mode::unattended);
    down.kept = kept_grant();
    down.token_status = 503;
    CHECK_FALSE(down.run_to(action::done));
    CHECK(contains(down.error(), "mcp_refused gets no token from its authorization server (503)"));
    CHECK(down.machine->grant().tokens->refresh == "r0");

    dialogue forgotten; // the client, too
    forgotten.kept = kept_grant();
    forgotten.token = {{"error", "invalid_client"}};
    forgotten.token_status = 401;
    REQUIRE(forgotten.run_to(action::sign_in));
    CHECK(forgotten.asked().find("client_id") == "registered");

    dialogue reconfigured; // the tokens were those of another client
    reconfigured.kept = kept_grant();
    reconfigured.settings.client_id = "mine";
    CHECK(reconfigured.run_to(action::sign_in));
}

TEST_CASE("oauth_machine: tokens that are not taken, and secrets that are not shown") {
    struct {
        int status;
        std::string body;
        std::string expected;
    } const cases[] = {
        {200, "<html>", "protocol_error has an authorization server that answered without a token"},
        {200, R"({"access_token":"a\r\nX: y","token_type":"bearer"})", "answered without a token"},
        {200, R"({"access_token":7,"token_type":"bearer"})", "answered without a token"},
        {200, R"({"access_token":"a","token_type":"DPoP"})", "gives other tokens than bearer tokens"},
        {200, R"({"access_token":"a"})", "gives other tokens than bearer tokens"},
        {400, R"({"error":"invalid_grant","error_description":"bad\u0007 code"})",
         "mcp_unauthorized gets no token from its authorization server (400) invalid_grant: bad? code"},
        {400, R"({"error":"c0de","error_description":"the code c0de is wrong"})",
         "gets no token from its authorization server (400)"},
        {429, "", "mcp_refused gets no token from its authorization server (429)"},
    };
    for (auto const& each : cases) {
        dialogue one;
        REQUIRE(one.run_to(action::sign_in));
        one.advance();
        REQUIRE(one.step);
        one.step = one.machine->take_answer(each.status, each.body, now);
        INFO(each.body);
        REQUIRE_FALSE(one.step);
        CHECK(contains(one.error(), each.expected));
        CHECK(one.error().find("c0de") == std::string::npos);
    }
    for (auto const& [text, seconds] :
         std::vector<std::pair<json, int>>{{60, 60}, {"60", 60}, {60.5, 60}, {-1, -1}, {"x", -1}, {json(), -1}}) {
        dialogue one;
        one.token["expires_in"] = text;
        REQUIRE(one.run_to(action::done));
        auto const expires = one.machine->grant().tokens->expires;
        INFO(text.dump());
        CHECK((seconds < 0 ? !expires : expires == now + std::chrono::seconds(seconds)));
    }
}

TEST_CASE("oauth_machine: credentials of the program") {
    dialogue one(mode::unattended);
    one.settings.grant = oauth_settings::grant_type::client_credentials;
    one.settings.client_id = "me";
    one.settings.client_secret = "s3cret";
    one.token.erase("refresh_token");
    auto document = server_document();
    document["token_endpoint_auth_methods_supported"] = {"client_secret_basic"};
    document.erase("code_challenge_methods_supported");
    one.documents["https://as/.well-known/oauth-authorization-server/t"] = document.dump();
    REQUIRE(one.run_to(action::done));
    CHECK(one.form().find("grant_type") == "client_credentials");
    CHECK(one.form().find("scope") == "read list");
    CHECK(one.form().find("resource") == "https://host/mcp");
    CHECK(one.sent.back().headers.find("Authorization") == "Basic bWU6czNjcmV0");

    dialogue without(mode::unattended);
    without.settings.grant = oauth_settings::grant_type::client_credentials;
    CHECK_FALSE(without.run_to(action::done));
    CHECK(contains(without.error(), "give its entry a client id and a client secret"));
}
