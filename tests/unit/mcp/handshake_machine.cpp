#include <ipybox/mcp/handshake_machine.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;
using step = handshake_machine::step;

template <class T>
T get(step s) {
    REQUIRE(std::holds_alternative<T>(s));
    return std::get<T>(std::move(s));
}

std::string asked(step s) { return std::string(get<handshake_machine::ask>(std::move(s)).method); }

std::string initialize_result(std::string const& version) {
    return json{{"protocolVersion", version},
                {"capabilities", {{"tools", {{"listChanged", true}}}}},
                {"serverInfo", {{"name", "s"}, {"version", "9"}}},
                {"instructions", "gently"}}
        .dump();
}

std::string discovered(json versions = {"2026-07-28"}) {
    return json{{"supportedVersions", std::move(versions)},
                {"capabilities", {{"tools", json::object()}}},
                {"_meta", {{"io.modelcontextprotocol/serverInfo", {{"name", "s"}, {"version", "9"}}}}}}
        .dump();
}

rpc_error refusal(std::int64_t code = -32601, std::string data = {}) {
    return {code, "Method not found", std::move(data)};
}

error const ended(errc::mcp_start_failed, "ended: exit code 1");

} // namespace

TEST_CASE("handshake_machine: initialize, with every version that is known") {
    for (auto const known : handshake_versions) {
        handshake_machine m;
        auto const first = get<handshake_machine::ask>(m.begin());
        CHECK(first.method == "initialize");
        CHECK(first.meta.empty());
        CHECK_FALSE(first.is_probe);
        REQUIRE(first.params.size() == 3);
        CHECK(first.params[0].value == "\"2025-11-25\"");
        CHECK(first.params[1].value == "{}"); // the client offers nothing
        CHECK(json::parse(first.params[2].value)["name"] == "ipybox");

        auto const end = get<handshake_machine::agreed>(m.on_result(initialize_result(std::string(known))));
        CHECK(end.confirm);
        CHECK(end.with.era == ipybox::mcp::detail::era::handshake);
        CHECK(end.with.version == known);
        CHECK(end.with.server_name == "s");
        CHECK(end.with.server_version == "9");
        CHECK(end.with.instructions == "gently");
        CHECK(end.with.announces_tool_changes);
    }
}

TEST_CASE("handshake_machine: a version that nobody knows") {
    for (auto const* const unknown : {"2026-07-28", "2030-01-01", "x"}) {
        handshake_machine m;
        (void)m.begin();
        auto const why = get<error>(m.on_result(initialize_result(unknown)));
        CHECK(why == errc::mcp_version_unsupported);
        CHECK(test::contains(why.text(), unknown));
    }
    for (auto const* const result : {"{}", "null", "[]", "nonsense", R"({"protocolVersion":7})"}) {
        handshake_machine m;
        (void)m.begin();
        CHECK(get<error>(m.on_result(result)) == errc::protocol_error);
    }
}

TEST_CASE("handshake_machine: who refuses initialize is asked what it speaks, whatever the code") {
    for (auto const code : {-32601, -32602, -32000, 0}) {
        handshake_machine m;
        (void)m.begin();
        auto const second = get<handshake_machine::ask>(m.on_refusal(refusal(code)));
        CHECK(second.method == "server/discover");
        CHECK_FALSE(second.is_probe);
        auto const meta = json::parse(second.meta);
        CHECK(meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28");
        CHECK(meta["io.modelcontextprotocol/clientCapabilities"] ==
              json{{"extensions", {{"io.modelcontextprotocol/tasks", json::object()}}}});
        CHECK(meta["io.modelcontextprotocol/clientInfo"]["name"] == "ipybox");
        auto const end = get<handshake_machine::agreed>(m.on_result(discovered({"2026-07-28", "2025-11-25"})));
        CHECK_FALSE(end.confirm);
        CHECK(end.with.era == ipybox::mcp::detail::era::stateless);
        CHECK(end.with.version == "2026-07-28");
        CHECK(end.with.server_name == "s");
        CHECK_FALSE(end.with.announces_tool_changes);
    }
}

TEST_CASE("handshake_machine: who refuses both says why") {
    handshake_machine m;
    (void)m.begin();
    (void)m.on_refusal({-32603, "no API key", {}});
    auto const why = get<error>(m.on_refusal(refusal()));
    CHECK(why == errc::mcp_refused);
    CHECK(test::contains(why.text(), "no API key"));
    CHECK(test::contains(why.text(), "`server/discover`: Method not found (-32601)"));
}

TEST_CASE("handshake_machine: who speaks later versions alone names them") {
    handshake_machine m;
    (void)m.begin();
    (void)m.on_refusal(refusal());
    auto const why = get<error>(
        m.on_refusal({-32022, "Unsupported", R"({"supported":["2027-01-01","2027-06-01"],"requested":"2026-07-28"})"}));
    CHECK(why == errc::mcp_version_unsupported);
    CHECK(test::contains(why.text(), "2027-01-01, 2027-06-01"));

    handshake_machine other;
    (void)other.begin();
    (void)other.on_refusal(refusal());
    CHECK(get<error>(other.on_result(discovered({"2027-01-01"}))) == errc::mcp_version_unsupported);

    handshake_machine strange;
    (void)strange.begin();
    (void)strange.on_refusal(refusal());
    CHECK(get<error>(strange.on_result("{}")) == errc::protocol_error);
}

TEST_CASE("handshake_machine: discover first, with every way back") {
    auto const begun = [] {
        handshake_machine m(server_params::negotiation::discover_first);
        auto const first = get<handshake_machine::ask>(m.begin());
        CHECK(first.method == "server/discover");
        CHECK(first.is_probe);
        return m;
    };
    auto good = begun();
    CHECK(get<handshake_machine::agreed>(good.on_result(discovered())).with.era == ipybox::mcp::detail::era::stateless);

    auto refused = begun();
    CHECK(asked(refused.on_refusal(refusal())) == "initialize");
    CHECK(get<handshake_machine::agreed>(refused.on_result(initialize_result("2024-11-05"))).with.version ==
          "2024-11-05");

    auto silent = begun();
    CHECK(asked(silent.on_silence()) == "initialize");

    auto older = begun();
    CHECK(asked(older.on_result(discovered({"2025-11-25"}))) == "initialize");

    auto gone = begun();
    (void)get<handshake_machine::start_over>(gone.on_end(ended));
    CHECK(asked(gone.begin()) == "initialize");
    CHECK(get<error>(gone.on_end(ended)) == errc::mcp_start_failed);

    auto neither = begun();
    (void)neither.on_refusal(refusal());
    CHECK(get<error>(neither.on_refusal(refusal(-32603))) == errc::mcp_refused);
}

TEST_CASE("handshake_machine: one era alone") {
    handshake_machine old(server_params::negotiation::handshake_only);
    CHECK(asked(old.begin()) == "initialize");
    CHECK(get<error>(old.on_refusal(refusal())) == errc::mcp_refused);

    handshake_machine modern(server_params::negotiation::stateless_only);
    auto const first = get<handshake_machine::ask>(modern.begin());
    CHECK(first.method == "server/discover");
    CHECK_FALSE(first.is_probe);
    CHECK(get<error>(modern.on_refusal(refusal())) == errc::mcp_refused);
    handshake_machine again(server_params::negotiation::stateless_only);
    (void)again.begin();
    CHECK(get<error>(again.on_end(ended)) == errc::mcp_start_failed);
}

TEST_CASE("handshake_machine: who ends says how, and what it said before") {
    handshake_machine m;
    (void)m.begin();
    CHECK(get<error>(m.on_end(ended)).text() == "ended: exit code 1");

    handshake_machine later;
    (void)later.begin();
    (void)later.on_refusal(refusal());
    auto const why = get<error>(later.on_end(error(errc::mcp_start_failed, "ended: exit code 1").with_status({1, {}})));
    CHECK(test::contains(why.text(), "Method not found"));
    CHECK(test::contains(why.text(), "then it ended: exit code 1"));
    CHECK(why.status().code == 1);
}

TEST_CASE("session: what a request says of itself") {
    session const old{ipybox::mcp::detail::era::handshake, "2025-11-25"};
    CHECK(request_meta(old).empty());
    CHECK(request_meta(old, 7) == R"({"progressToken":7})");
    session const modern{ipybox::mcp::detail::era::stateless, "2026-07-28"};
    auto const meta = json::parse(request_meta(modern, 7));
    CHECK(meta.size() == 4);
    CHECK(meta["progressToken"] == 7);
    CHECK(json::parse(request_meta(modern)).size() == 3);
}

TEST_CASE("handshake_machine: a server that refuses the version that it names is asked once more") {
    handshake_machine m(server_params::negotiation::stateless_only);
    CHECK(std::holds_alternative<handshake_machine::ask>(m.begin()));
    rpc_error const why{-32022, "unsupported", R"({"supported":["2026-07-28"]})"};
    CHECK(std::holds_alternative<handshake_machine::ask>(m.on_refusal(why)));
    auto const end = m.on_refusal(why);
    REQUIRE(std::holds_alternative<error>(end));
    CHECK(std::get<error>(end) == errc::mcp_refused);
}

TEST_CASE(
    "handshake_machine: a server that was slow to say what it speaks, and refuses initialize, is asked once more") {
    handshake_machine m(server_params::negotiation::discover_first);
    CHECK(asked(m.begin()) == "server/discover");
    CHECK(asked(m.on_silence()) == "initialize");
    auto const why = refusal(-32022, R"({"supported":["2026-07-28"]})");
    CHECK(asked(m.on_refusal(why)) == "server/discover");
    CHECK(get<handshake_machine::agreed>(m.on_result(discovered())).with.version == "2026-07-28");
}
