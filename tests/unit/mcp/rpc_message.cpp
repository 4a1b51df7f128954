#include <ipybox/mcp/rpc_message.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace ipybox::mcp;
using nlohmann::json;
using kind = rpc_message::kind;

} // namespace

TEST_CASE("rpc_message: the four kinds") {
    auto const request = read_rpc_message(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":[1]}})");
    REQUIRE(request);
    CHECK(request->what == kind::request);
    CHECK(request->id == R"("a")");
    CHECK(request->method == "ping");
    CHECK(request->params == R"({"x":[1]})");

    auto const notification = read_rpc_message(R"({"jsonrpc":"2.0","method":"notifications/progress"})");
    REQUIRE(notification);
    CHECK(notification->what == kind::notification);
    CHECK(notification->params.empty());

    auto const result =
        read_rpc_message(R"({"result":{"id":9,"jsonrpc":"1.0"},"jsonrpc":"2.0","id":5})"); // the id comes last
    REQUIRE(result);
    CHECK(result->what == kind::result);
    CHECK(result->id == "5");
    CHECK(result->result == R"({"id":9,"jsonrpc":"1.0"})");

    auto const refusal = read_rpc_message(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}})");
    REQUIRE(refusal);
    CHECK(refusal->what == kind::error);
    CHECK(refusal->id == "null");
    CHECK(read_rpc_message(R"({"jsonrpc":"2.0","error":{}})")->id.empty());
}

TEST_CASE("rpc_message: what servers print besides") {
    for (auto const* const text :
         {"", "Server listening on stdio", "{", "42", "\"text\"", "null", "[]", "{}",
          R"({"level":"info","message":"ready"})", R"({"id":1,"result":{}})", R"({"jsonrpc":"1.0","id":1,"result":{}})",
          R"({"jsonrpc":2.0,"id":1,"result":{}})", R"({"jsonrpc":"2.0"})", R"({"jsonrpc":"2.0","id":1})",
          R"({"jsonrpc":"2.0","result":{}})", R"({"jsonrpc":"2.0","method":7})"}) {
        CAPTURE(text);
        CHECK_FALSE(read_rpc_message(text));
    }
}

TEST_CASE("rpc_message: a member that is null counts as left out") {
    auto const both = read_rpc_message(R"({"jsonrpc":"2.0","id":1,"error":null,"result":{}})");
    REQUIRE(both);
    CHECK(both->what == rpc_message::kind::result);
    auto const all =
        read_rpc_message(R"({"jsonrpc":"2.0","id":1,"method":null,"params":null,"result":{},"error":null})");
    REQUIRE(all);
    CHECK(all->what == rpc_message::kind::result);
    auto const error = read_rpc_message(R"({"jsonrpc":"2.0","id":1,"method":null,"result":null,"error":{"code":1}})");
    REQUIRE(error);
    CHECK(error->what == rpc_message::kind::error);
    CHECK_FALSE(read_rpc_message(R"({"jsonrpc":"2.0","id":1,"method":null})"));
    CHECK_FALSE(read_rpc_message(R"({"jsonrpc":"2.0","id":1,"method":nil})"));
}

TEST_CASE("rpc_message: answers that are cut off, and answers that nest deeply") {
    for (auto const* const text : {R"({"jsonrpc":"2.0","id":1,"result":{}} trailing)",
                                   R"({"jsonrpc":"2.0","id":1,"result":{)", R"({"jsonrpc":"2.0","id":1,"res)"}) {
        CAPTURE(text);
        auto const m = read_rpc_message(text);
        REQUIRE(m);
        CHECK(m->what == rpc_message::kind::broken);
        CHECK(m->id == "1");
    }
    CHECK(read_rpc_message(R"({"result":{"a")")->id.empty());
    auto const deep = std::string(100'000, '[') + std::string(100'000, ']');
    auto const answer = R"({"jsonrpc":"2.0","id":1,"result":)" + deep + "}";
    auto const m = read_rpc_message(answer);
    REQUIRE(m);
    CHECK(m->what == rpc_message::kind::result);
    CHECK(m->result == deep);
}

TEST_CASE("rpc_message: errors") {
    auto const e = read_rpc_error(R"({"code":-32022,"message":"größe","data":{"supported":["x"]},"more":[]})");
    CHECK(e.code == -32022);
    CHECK(e.message == "größe");
    CHECK(e.data == R"({"supported":["x"]})");
    auto const strange = read_rpc_error(R"({"code":"no","message":3})");
    CHECK(strange.code == 0);
    CHECK(strange.message.empty());
    CHECK(read_rpc_error("\"oops\"").message == "oops");
}

TEST_CASE("rpc_message: what is written is JSON-RPC") {
    CHECK(json::parse(write_rpc_request(7, "tools/call", {{"_meta", ""}, {"name", "\"a\""}, {"arguments", "{}"}})) ==
          json::parse(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{}}})"));
    CHECK(json::parse(write_rpc_request(7, "ping", {})) ==
          json::parse(R"({"jsonrpc":"2.0","id":7,"method":"ping","params":{}})"));
    CHECK(json::parse(write_rpc_notification("notifications/initialized", {})) ==
          json::parse(R"({"jsonrpc":"2.0","method":"notifications/initialized","params":{}})"));
    CHECK(json::parse(write_rpc_result("\"x\"", "{}")) == json::parse(R"({"jsonrpc":"2.0","id":"x","result":{}})"));
    CHECK(json::parse(write_rpc_error("1", -32601, "no \"such\"")) ==
          json::parse(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \"such\""}})"));
}
