#include <ipybox/mcp/rpc_machine.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <variant>

namespace {

using namespace ipybox::mcp;
using namespace std::chrono_literals;
using nlohmann::json;
using reports = rpc_machine::progress_reports;

auto const start = rpc_machine::clock::time_point() + 1h;

template <class T>
T get(rpc_machine::step s) {
    REQUIRE(std::holds_alternative<T>(s));
    return std::get<T>(std::move(s));
}

bool nothing(rpc_machine::step const& s) { return std::holds_alternative<rpc_machine::nothing>(s); }

std::string answer(std::int64_t id) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{"x":1}})";
}

std::string progress_of(std::string const& token, std::string const& more = R"("progress":1)") {
    return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)" + token + "," + more +
           "}}";
}

} // namespace

TEST_CASE("rpc_machine: an answer closes its request, and only its own") {
    rpc_machine m;
    auto const first = m.open();
    auto const second = m.open();
    CHECK(first != second);
    auto const text = answer(second);
    auto const a = get<rpc_machine::answered>(m.read(text));
    CHECK(a.request == second);
    CHECK(a.result == R"({"x":1})");
    CHECK(nothing(m.read(text))); // twice
    CHECK(nothing(m.read(answer(99))));
    CHECK(m.open_requests() == 1);
    CHECK(get<rpc_machine::answered>(m.read(R"({"jsonrpc":"2.0","id":")" + std::to_string(first) + R"(","result":{}})"))
              .request == first);
    CHECK(m.open() > second); // never again
    auto const third = m.open();
    CHECK(get<rpc_machine::answered>(m.read(R"({"jsonrpc":"2.0","id":)" + std::to_string(third) + R"(.0,"result":{}})"))
              .request == third);
}

TEST_CASE("rpc_machine: refusals") {
    rpc_machine m;
    auto const id = m.open();
    auto const r = get<rpc_machine::refused>(m.read(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                                                    R"(,"error":{"code":-32602,"message":"Unknown tool"}})"));
    CHECK(r.request == id);
    CHECK(r.why.code == -32602);
    CHECK(r.why.message == "Unknown tool");
    CHECK(m.open_requests() == 0);
}

TEST_CASE("rpc_machine: an error without an id belongs to the only request there is") {
    rpc_machine m;
    for (auto const* const text : {R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}})",
                                   R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}})"}) {
        CHECK(nothing(m.read(text)));
        auto const id = m.open();
        CHECK(get<rpc_machine::refused>(m.read(text)).request == id);
    }
    auto const first = m.open();
    auto const second = m.open();
    CHECK(nothing(m.read(R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}})")));
    CHECK(m.abandon(first, ""));
    CHECK(m.abandon(second, ""));
}

TEST_CASE("rpc_machine: abandoned requests are not answered any more") {
    rpc_machine m;
    auto const id = m.open();
    auto const notice = m.abandon(id, "the call was \"cancelled\"");
    REQUIRE(notice);
    CHECK(json::parse(*notice) == json{{"jsonrpc", "2.0"},
                                       {"method", "notifications/cancelled"},
                                       {"params", {{"requestId", id}, {"reason", "the call was \"cancelled\""}}}});
    CHECK(nothing(m.read(answer(id)))); // late
    CHECK_FALSE(m.abandon(id, "again"));
    CHECK_FALSE(m.abandon(12345, "never"));
}

TEST_CASE("rpc_machine: deadlines") {
    rpc_machine m;
    CHECK(m.deadline() == rpc_machine::clock::time_point::max());
    auto const never = m.open();
    auto const late = m.open(start + 2s);
    auto const early = m.open(start + 1s);
    CHECK(m.deadline() == start + 1s);
    CHECK(m.overdue(start).empty());
    CHECK(m.overdue(start + 1s) == std::vector<rpc_machine::request_id>{early});
    CHECK(m.overdue(start + 5s) == std::vector<rpc_machine::request_id>{early, late});
    CHECK(m.open_requests() == 3); // until they are abandoned
    (void)m.abandon(early, "");
    CHECK(m.deadline() == start + 2s);
    CHECK(get<rpc_machine::answered>(m.read(answer(late))).request == late);
    CHECK(m.deadline() == rpc_machine::clock::time_point::max());
    m.forget(never);
    m.forget(never);
    CHECK(m.open_requests() == 0);
}

TEST_CASE("rpc_machine: progress counts for open requests that asked for it") {
    rpc_machine m;
    auto const silent = m.open();
    auto const id = m.open(start, reports::wanted);
    auto const p = get<rpc_machine::progressed>(
        m.read(progress_of(std::to_string(id), R"("progress":0.5,"total":2,"message":"half \u00e9")")));
    CHECK(p.request == id);
    CHECK(p.made.done == 0.5);
    CHECK(p.made.total == 2);
    CHECK(p.made.message == "half é");
    auto const bare = get<rpc_machine::progressed>(
        m.read(progress_of(std::to_string(id), R"("progress":1,"total":"x","message":null)")));
    CHECK_FALSE(bare.made.total);
    CHECK_FALSE(bare.made.message);
    CHECK(nothing(m.read(progress_of(std::to_string(silent)))));
    for (auto const* const token : {"77", "\"x\"", "null", "{}", "1.5"}) CHECK(nothing(m.read(progress_of(token))));
    CHECK(nothing(m.read(R"({"jsonrpc":"2.0","method":"notifications/progress"})")));
    (void)m.read(answer(id));
    CHECK(nothing(m.read(progress_of(std::to_string(id)))));
}

TEST_CASE("rpc_machine: a notification may have the id null") {
    rpc_machine m;
    (void)get<rpc_machine::tools_changed>(
        m.read(R"({"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed","params":null})"));
    CHECK(nothing(m.read(R"({"jsonrpc":"2.0","id":null,"method":"ping"})")));
}

TEST_CASE("rpc_machine: a report of 1 MiB is read, and a longer one is passed over") {
    rpc_machine m;
    auto const token = std::to_string(m.open(start, reports::wanted));
    auto const report = [&token](std::size_t text) {
        return progress_of(token, R"("progress":1,"message":")" + std::string(text, 'x') + '"');
    };
    auto const around = (R"({"progressToken":)" + token + R"(,"progress":1,"message":""})").size();
    auto const most = (std::size_t(1) << 20) - around;
    CHECK(get<rpc_machine::progressed>(m.read(report(most))).made.message->size() == most);
    CHECK(nothing(m.read(report(most + 1))));
}

TEST_CASE("rpc_machine: requests of the server are answered or refused") {
    rpc_machine m;
    CHECK(get<rpc_machine::reply>(m.read(R"({"jsonrpc":"2.0","id":"p-1","method":"ping"})")).message ==
          R"({"jsonrpc":"2.0","id":"p-1","result":{}})");
    for (auto const* const method : {"roots/list", "sampling/createMessage", "elicitation/create", "anything"}) {
        auto const request = json{{"jsonrpc", "2.0"}, {"id", 4}, {"method", method}, {"params", json::object()}}.dump();
        auto const reply = json::parse(get<rpc_machine::reply>(m.read(request)).message);
        CHECK(reply["id"] == 4);
        CHECK(reply["error"]["code"] == -32601);
    }
    for (auto const* const id : {"{}", "1.5", "[1]", "true", "nonsense"}) // no ids: nothing is sent back
        CHECK(nothing(m.read(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"ping"})")));
}

TEST_CASE("rpc_machine: an id of 1 KiB is repeated, a longer one is not answered") {
    rpc_machine m;
    auto const ping = [](std::size_t length) {
        return R"({"jsonrpc":"2.0","id":")" + std::string(length - 2, 'x') + R"(","method":"ping"})";
    };
    CHECK(get<rpc_machine::reply>(m.read(ping(1024))).message.size() > 1024);
    CHECK(nothing(m.read(ping(1025))));
}

TEST_CASE("rpc_machine: notifications") {
    rpc_machine m;
    CHECK(std::holds_alternative<rpc_machine::tools_changed>(
        m.read(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})")));
    for (auto const* const method :
         {"notifications/message", "notifications/cancelled", "notifications/resources/updated", "x"})
        CHECK(nothing(m.read(R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":{}})")));
    CHECK(nothing(m.read("noise")));
}

TEST_CASE("rpc_machine: lines with several messages") {
    CHECK(messages_of("noise").empty());
    CHECK(messages_of("").empty());
    CHECK(messages_of(R"(  {"a":1})").size() == 1);
    auto const batch = messages_of(R"([{"a":1}, 2, {"b":"]"}])");
    REQUIRE(batch.size() == 2);
    CHECK(batch[0] == R"({"a":1})");
    CHECK(batch[1] == R"({"b":"]"})");
    CHECK(messages_of(R"([{"a":1},)").empty());
}

TEST_CASE("rpc_machine: a batch of 10,000 messages is read, one more is too many") {
    std::string batch = "[{}";
    for (std::size_t i = 1; i < most_messages; ++i) batch += ",{}";
    CHECK(messages_of(batch + "]").size() == 10'000);
    CHECK(messages_of(batch + ",{}]").empty());
}

TEST_CASE("rpc_machine: an answer that is cut off closes its request") {
    rpc_machine book;
    auto const first = book.open();
    auto const second = book.open();
    auto const step = book.read(R"({"jsonrpc":"2.0","id":)" + std::to_string(second) + R"(,"result":{"content":[{"te)");
    REQUIRE(std::holds_alternative<rpc_machine::garbled>(step));
    CHECK(std::get<rpc_machine::garbled>(step).request == second);
    // Without an id it is the one that is open, if it is the only one.
    CHECK(std::get<rpc_machine::garbled>(book.read(R"({"result":{"a")")).request == first);
    CHECK(std::holds_alternative<rpc_machine::nothing>(book.read(R"({"result":{"a")")));
    CHECK(book.open_requests() == 0);
}
