#include <ipybox/async/spawn.hpp>
#include <ipybox/http/file_token_store.hpp>
#include <ipybox/http/form.hpp>
#include <ipybox/http/oauth_authorizer.hpp>
#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/server_registry.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/coroutines.hpp>
#include <support/scratch_dir.hpp>
#include <support/web_server.hpp>

#include <asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace ipybox::http;
using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::errc;
using ipybox::result;
using ipybox::test::contains;
using ipybox::test::scratch_dir;
using ipybox::test::web_answer;
using ipybox::test::web_request;
using ipybox::test::web_server;
using nlohmann::json;

namespace {

/// An MCP server and its authorization server in one, and an authorizer.
struct sign_in_host {
    sign_in_host() : server(context, [this](web_request const& r, web_answer& a) { return handle(r, a); }) {
        options.settings.name = "s";
        options.store = std::make_shared<file_token_store>(scratch.path() / "tokens");
        options.request_timeout = 5s;
        options.sign_in = [this](std::string address) { return browse(std::move(address)); };
    }
    ~sign_in_host() { server.close(); }

    json resource_document() const { return {{"resource", server.url()}, {"authorization_servers", {server.url("")}}}; }
    json server_document() const {
        return {{"issuer", server.url("")},
                {"authorization_endpoint", server.url("/authorize")},
                {"token_endpoint", server.url("/token")},
                {"registration_endpoint", server.url("/register")},
                {"token_endpoint_auth_methods_supported", {"none"}},
                {"code_challenge_methods_supported", {"S256"}}};
    }
    json registration() const { return {{"client_id", "c1"}}; }
    json tokens() const {
        auto const number = std::to_string(given);
        json made = {{"access_token", "access-" + number}, {"token_type", "Bearer"}, {"expires_in", lifetime}};
        if (gives_refresh) made["refresh_token"] = "refresh-" + number;
        return made;
    }
    static json refusal() { return {{"error", "invalid_grant"}, {"error_description", "refresh-1 is spent"}}; }

    awaitable<void> handle(web_request const& request, web_answer& answer) {
        auto const& at = request.target;
        if (at.starts_with("/.well-known/oauth-protected-resource")) {
            co_await answer.whole(200, resource_document().dump());
        } else if (at == "/.well-known/oauth-authorization-server") {
            co_await answer.whole(200, server_document().dump());
        } else if (at == "/register") {
            co_await answer.whole(201, registration().dump());
        } else if (at == "/token" && token_status == 200) {
            ++given;
            co_await answer.wait(50ms);
            co_await answer.whole(200, tokens().dump());
        } else if (at == "/token") {
            co_await answer.whole(token_status, refusal().dump());
        } else if (mcp) {
            co_await mcp(request, answer);
        } else {
            co_await answer.whole(404, "");
        }
    }

    /// A browser that signs in at once.
    awaitable<result<std::string>> browse(std::string address) {
        ++sign_ins;
        asked = parse_form(address.substr(address.find('?') + 1));
        fields const values{{"code", "the-code"}, {"state", std::string(asked.find("state"))}};
        auto const back = std::string(asked.find("redirect_uri")) + "?" + write_form(values);
        if (copies) co_return back;
        if (fails) co_return ipybox::failure(errc::mcp_unauthorized, "was not signed in to: no browser");
        if (is_silent) co_return std::string();
        request wanted;
        wanted.url = back;
        auto const page = client::shared()->begin(std::move(wanted));
        auto head = co_await page->head();
        CHECK((head && head->status == 200));
        co_return std::string();
    }

    std::shared_ptr<oauth_authorizer> make() {
        return oauth_authorizer::make(context.get_executor(), server.url(), options).value();
    }

    static response_head refusal_head(std::string const& challenge, int status = 401) {
        response_head head;
        head.status = status;
        head.headers.add("WWW-Authenticate", challenge);
        return head;
    }

    /// "ok", or the error.
    std::string renew(oauth_authorizer& one, std::string const& challenge = "Bearer", std::string refused = {}) {
        auto const head = refusal_head(challenge);
        auto const done = ipybox::test::run(context, one.renew(head, std::move(refused)), 20s);
        return done ? "ok" : std::string(done.error().name()) + " " + done.error().text();
    }

    int count(std::string const& target) const {
        int found = 0;
        for (auto const& each : server.requests) found += each.target == target ? 1 : 0;
        return found;
    }
    fields last_form() const { return parse_form(server.requests.back().body); }

    scratch_dir scratch;
    asio::io_context context;
    web_server server;
    oauth_options options;
    web_server::handler mcp;

    int given = 0; // tokens
    int lifetime = 3600;
    bool gives_refresh = true;
    int token_status = 200;

    int sign_ins = 0;
    fields asked;
    bool copies = false;
    bool fails = false;
    bool is_silent = false;
};

} // namespace

TEST_CASE("oauth_authorizer: a sign-in, which is kept") {
    sign_in_host host;
    auto const one = host.make();
    CHECK(one->credentials().empty());
    CHECK(host.renew(*one) == "ok");
    CHECK(one->credentials() == "Bearer access-1");
    CHECK(host.sign_ins == 1);
    CHECK(host.asked.find("client_id") == "c1");
    CHECK(host.last_form().find("code") == "the-code");
    CHECK(host.make()->credentials() == "Bearer access-1");
    CHECK(host.renew(*one, "Bearer", "Bearer other") == "ok"); // there are newer ones already
    CHECK(host.given == 1);

    auto const signed_in = ipybox::test::run(host.context, one->sign_in(), 20s);
    CHECK(signed_in);
    CHECK(one->credentials() == "Bearer access-2");
    CHECK(host.count("/register") == 1); // the port was free again
    CHECK(one->forget());
    CHECK(one->credentials().empty());
    CHECK(host.make()->credentials().empty());
}

TEST_CASE("oauth_authorizer: the user copies the address") {
    sign_in_host host;
    host.copies = true;
    auto const one = host.make();
    CHECK(host.renew(*one) == "ok");
    CHECK(one->credentials() == "Bearer access-1");
}

TEST_CASE("oauth_authorizer: requests that are refused at once share one renewal") {
    sign_in_host host;
    host.lifetime = 0;
    auto const first = host.make();
    REQUIRE(host.renew(*first) == "ok");
    CHECK(first->credentials().empty()); // expired
    host.lifetime = 3600;
    host.options.sign_in = nullptr;
    auto const one = host.make();
    std::vector<std::string> outcomes;
    auto const head = sign_in_host::refusal_head("Bearer error=\"invalid_token\"");
    auto const keep = [&outcomes](std::exception_ptr thrown, result<void> done) {
        outcomes.emplace_back(!thrown && done ? "ok" : "failed");
    };
    for (int number = 0; number < 3; ++number)
        ipybox::detail::spawn(host.context.get_executor(), one->renew(head, ""), keep);
    host.context.restart();
    auto const bound = std::chrono::steady_clock::now() + 20s;
    while (outcomes.size() < 3 && std::chrono::steady_clock::now() < bound) host.context.run_one_for(1s);
    CHECK(outcomes == std::vector<std::string>{"ok", "ok", "ok"});
    CHECK(host.given == 2);
    CHECK(host.last_form().find("grant_type") == "refresh_token");
    CHECK(host.last_form().find("refresh_token") == "refresh-1");
    CHECK(host.last_form().find("resource") == host.server.url());
    CHECK(one->credentials() == "Bearer access-2");
    CHECK(host.sign_ins == 1);
}

TEST_CASE("oauth_authorizer: without a person") {
    sign_in_host host;
    host.options.sign_in = nullptr;
    auto const one = host.make();
    CHECK(host.renew(*one) == "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    CHECK(host.server.requests.empty());
    CHECK(host.renew(*one, "Bearer error=insufficient_scope, scope=x") ==
          "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    auto const forced = ipybox::test::run(host.context, one->sign_in(), 20s);
    REQUIRE_FALSE(forced);
    CHECK(forced.error() == errc::invalid_argument);

    // Another process signs in.
    oauth_grant other;
    other.issuer = host.server.url("");
    other.client = oauth_client();
    other.client->id = "c1";
    other.tokens = oauth_tokens();
    other.tokens->access = "from-elsewhere";
    other.tokens->refresh = "refresh-1";
    REQUIRE(host.options.store->save(host.server.url(), other));
    CHECK(host.renew(*one) == "ok");
    CHECK(one->credentials() == "Bearer from-elsewhere");
    CHECK(host.server.requests.empty());

    // Its refresh token is refused, and not used again.
    host.token_status = 400;
    CHECK(host.renew(*one, "Bearer", "Bearer from-elsewhere") ==
          "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    auto const kept = host.options.store->load(host.server.url());
    REQUIRE(kept);
    CHECK_FALSE(kept->at(0).tokens);
    auto const requests = host.server.requests.size();
    CHECK(host.renew(*one) == "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    CHECK(host.server.requests.size() == requests);
}

TEST_CASE("oauth_authorizer: a sign-in that fails is not tried again at once") {
    sign_in_host host;
    host.fails = true;
    auto const one = host.make();
    CHECK(host.renew(*one) == "mcp_unauthorized was not signed in to: no browser");
    CHECK(host.renew(*one) == "mcp_unauthorized wants a sign-in to s, and the application gives no way to do that");
    CHECK(host.sign_ins == 1);
    host.fails = false;
    auto const forced = ipybox::test::run(host.context, one->sign_in(), 20s);
    CHECK(forced);
    CHECK(host.sign_ins == 2);
    CHECK(host.count("/register") == 1);

    sign_in_host silent;
    silent.is_silent = true;
    silent.options.sign_in_timeout = 100ms;
    auto const two = silent.make();
    CHECK(silent.renew(*two) == "timed_out was not signed in to: the browser did not come back in time");

    sign_in_host throwing;
    throwing.options.sign_in = [](std::string) -> awaitable<result<std::string>> {
        throw std::runtime_error("secret");
        co_return std::string();
    };
    auto const three = throwing.make();
    CHECK(throwing.renew(*three) == "mcp_unauthorized was not signed in to: the page could not be shown");
}

TEST_CASE("oauth_authorizer: more scopes") {
    sign_in_host host;
    auto const one = host.make();
    REQUIRE(host.renew(*one, "Bearer scope=\"read\"") == "ok");
    CHECK(host.asked.find("scope") == "read");
    auto const more = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    CHECK(host.renew(*one, more, "Bearer access-1") == "ok");
    CHECK(host.asked.find("scope") == "write read");
    CHECK(one->credentials() == "Bearer access-2");
    CHECK(host.renew(*one, more, "Bearer access-2") ==
          "mcp_unauthorized refuses access for want of a scope, although `write` was asked for");
    CHECK(host.sign_ins == 2);
}

TEST_CASE("oauth_authorizer: servers and stores that are broken") {
    sign_in_host host;
    host.gives_refresh = true;
    auto const one = host.make();
    REQUIRE(host.renew(*one) == "ok");
    host.token_status = 500;
    auto const said = host.renew(*one, "Bearer", "Bearer access-1");
    CHECK(contains(said, "mcp_refused gets no token from its authorization server (500)"));
    CHECK(said.find("refresh-1") == std::string::npos);
    CHECK(host.sign_ins == 1);
    host.token_status = 200;
    CHECK(host.renew(*one, "Bearer", "Bearer access-1") == "ok"); // the refresh token was kept

    auto const file = file_token_store(host.scratch.path() / "tokens").file_of(host.server.url());
    fs::resize_file(file, 10);
    auto const two = host.make();
    CHECK(two->credentials().empty());
    CHECK(contains(host.renew(*two), "invalid_argument " + file.string() + " does not hold tokens in JSON"));

    host.options.store = nullptr;
    auto const forgetful = host.make();
    CHECK(host.renew(*forgetful) == "ok");
    auto const nowhere = oauth_authorizer::make(host.context.get_executor(), "http://127.0.0.1:1/mcp", host.options);
    CHECK(
        contains(host.renew(**nowhere),
                 "mcp_unreachable cannot be signed in to: http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp "
                 "cannot be reached"));
    CHECK_FALSE(oauth_authorizer::make(host.context.get_executor(), "mcp", host.options));
}

TEST_CASE("oauth_authorizer: a process that renews the tokens meanwhile") {
    sign_in_host host;
    auto const one = host.make();
    REQUIRE(host.renew(*one) == "ok");
    auto const claim = std::make_shared<std::shared_ptr<void>>(host.options.store->try_lock(host.server.url()).value());
    REQUIRE(*claim);
    auto const end_claim = [claim, &host]() -> awaitable<void> {
        asio::steady_timer timer(host.context, 200ms);
        asio::error_code ended;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
        auto grant = host.options.store->load(host.server.url()).value().at(0);
        grant.tokens->access = "renewed-elsewhere";
        CHECK(host.options.store->save(host.server.url(), grant));
        claim->reset();
    };
    ipybox::detail::spawn(host.context.get_executor(), end_claim());
    CHECK(host.renew(*one, "Bearer", "Bearer access-1") == "ok");
    CHECK(one->credentials() == "Bearer renewed-elsewhere");
    CHECK(host.given == 1);
}

TEST_CASE("oauth_authorizer: credentials of the program") {
    sign_in_host host;
    host.options.sign_in = nullptr;
    host.options.settings.grant = oauth_settings::grant_type::client_credentials;
    host.options.settings.client_id = "me";
    host.options.settings.client_secret = "s3cret";
    host.gives_refresh = false;
    auto const one = host.make();
    CHECK(host.renew(*one) == "ok");
    CHECK(one->credentials() == "Bearer access-1");
    CHECK(host.renew(*one, "Bearer", "Bearer access-1") == "ok");
    CHECK(one->credentials() == "Bearer access-2");
    CHECK(host.last_form().find("grant_type") == "client_credentials");
}

TEST_CASE("oauth_authorizer: a call of a tool on a server that wants a token") {
    sign_in_host host;
    host.mcp = [](web_request const& request, web_answer& answer) -> awaitable<void> {
        auto const message = request.message();
        if (request.field("authorization") != "Bearer access-1") {
            co_await answer.whole(401, "", "text/plain", "WWW-Authenticate: Bearer realm=\"x\"");
        } else if (request.method != "POST") {
            co_await answer.whole(405, "");
        } else if (!message.contains("id")) {
            co_await answer.whole(202, "");
        } else {
            auto reply = json{{"jsonrpc", "2.0"}, {"id", message["id"]}};
            reply["result"] = json{{"content", json::array()}};
            if (message["method"] == "initialize") {
                reply["result"] =
                    json{{"protocolVersion", "2025-11-25"}, {"capabilities", {{"tools", json::object()}}}};
                reply["result"]["serverInfo"] = json{{"name", "s"}, {"version", "1"}};
            }
            co_await answer.whole(200, reply.dump());
        }
    };
    auto const one = host.make();
    ipybox::mcp::registry_options options;
    options.make_channel = [one](asio::any_io_executor const& executor, ipybox::mcp::server_params const& server) {
        return make_remote_channel(executor, server, one);
    };
    ipybox::mcp::server_registry registry(host.context.get_executor(), options);
    ipybox::mcp::server_params params;
    params.url = host.server.url();
    params.stop_grace = 500ms;
    REQUIRE(registry.add("s", params));
    auto const called = ipybox::test::run(host.context, registry.call("s", "t", json::object()), 20s);
    CHECK(called);
    CHECK(host.sign_ins == 1);
    ipybox::test::run(host.context, registry.stop());
}
