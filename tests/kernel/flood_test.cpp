// Code that floods its host with JSON: its time runs out all the same.

#include <ipybox/ipybox.hpp>

#include <chrono>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Sends what it likes on the stream socket. `flood(kind, content, metadata, *buffers)` sends one message of the cell.
constexpr auto flooding = R"(
import json, time
link, parent = get_ipython().kernel.link, json.dumps(get_ipython().kernel.get_parent()["header"], default=str).encode()
def flood(kind, content, metadata=b"{}", *buffers):
    link.send(1, [json.dumps({"msg_type": kind, "msg_id": "1"}).encode(), parent, metadata, content, *buffers])
data = b'{"data":{"application/json":%s},"metadata":{},"transient":{}}'
raw = b'{"raw":[[["data","application/json"],0,"text"]]}'
)";

result<execution_result> flooded(kernel_box<>& box, std::string const& code) {
    return box->execute(flooding + code, {.timeout = 3s});
}

} // namespace

TEST_CASE("a flood of messages delays no timeout", "[kernel]") {
    kernel_box<> box;
    std::string const code = GENERATE(
        // small ones
        R"(
while True: flood("stream", b'{"name":"stdout","text":"x"}'))",
        // wide values, built from their text
        R"(
wide = data % (b"[" + b"[]," * 90_000 + b"0]")
while True: flood("display_data", wide))",
        // wide values that stay text: 60 MB in one message
        R"(
wide = b"[" + b"0," * 400_000 + b'"' + b"x" * 58_000_000 + b'"]'
while True: flood("display_data", data % b'""', raw, wide))",
        // much text in each
        R"(
text = b'{"name":"stdout","text":"' + b"x" * 8_000_000 + b'"}'
while True: flood("stream", text))",
        // what the host has no use for
        R"(
while True: flood("comm_msg", b"[" + b"[]," * 2_500_000 + b"0]"))");
    INFO(code);
    auto const r = flooded(box, code);
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK(box.run("1") == "1");
}

TEST_CASE("JSON beyond the bounds ends its kernel before anything is built from it", "[kernel]") {
    kernel_box<> box;
    std::string const code = GENERATE("flood('display_data', data % (b'[' * 60_000_000))",
                                      "flood('stream', b'[' + b'[],' * 5_000_000 + b'0]')");
    INFO(code);
    auto const r = flooded(box, code + "\ntime.sleep(60)");
    REQUIRE_FALSE(r);
    CHECK((r.error() == errc::message_too_large || r.error() == errc::protocol_error));
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}

TEST_CASE("a kernel that replies and does not read its answer is killed, and the next call is told why", "[kernel]") {
    kernel_box<> box;
    execute_options options;
    options.on_input = [](input_request const& q) { q.reply(std::string(input_request::longest_line, 'x')); };
    // It asks, says that its cell has ended, and reads nothing more.
    auto const r = box->execute(std::string(flooding) + R"(
import select
print("before", flush=True)
link.send(2, [b'{"msg_type":"input_request","msg_id":"1"}', parent, b"{}", b'{"prompt":"","password":false}'])
select.select([link.socket], [], []) # the answer is on its way
link.send(0, [b'{"msg_type":"execute_reply","msg_id":"2"}', parent, b"{}", b'{"status":"ok"}'])
time.sleep(600))",
                                options);
    CHECK(text_of(r) == "before");
    auto const next = box->execute("1");
    REQUIRE_FALSE(next);
    CHECK(next.error() == errc::kernel_died);
    CHECK_THAT(next.error().text(), Catch::Matchers::Contains("did not read what was sent to it within 5 s"));
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}
