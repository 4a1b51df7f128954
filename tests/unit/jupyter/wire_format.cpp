#include <ipybox/jupyter/wire_format.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace ipybox;
using namespace ipybox::jupyter;
using channel = message::channel;
using test::contains;

namespace {

std::vector<std::string_view> views(std::vector<std::string> const& frames) { return {frames.begin(), frames.end()}; }

/// The frames of a valid message, signed.
std::vector<std::string> valid(signer& s, std::vector<std::string> json_frames = {
                                              R"({"msg_id":"1","msg_type":"status"})", "{}", "{}", "{}"}) {
    std::vector<std::string> frames = {"<IDS|MSG>",
                                       s.sign({json_frames[0], json_frames[1], json_frames[2], json_frames[3]})};
    frames.insert(frames.end(), json_frames.begin(), json_frames.end());
    return frames;
}

std::string refused(std::vector<std::string> const& frames, signer& s, wire_limits const& limits = {}) {
    auto const m = from_wire(message::channel::iopub, views(frames), s, limits);
    REQUIRE_FALSE(m);
    CHECK(m.error() == errc::protocol_error);
    return m.error().text();
}

} // namespace

TEST_CASE("wire_format: there and back") {
    signer s("key");
    message m(message::channel::stdin_, "input_request", {{"prompt", "näme\n"}, {"password", false}});
    m.session = "s";
    m.metadata = {{"a", {1, 2}}};
    m.parent_header = {{"msg_id", "parent"}, {"date", "2026-01-01"}};
    m.buffers = {std::string("\0\xff", 2), ""};
    auto const frames = to_wire(m, s);
    REQUIRE(frames.size() == 8);
    CHECK(frames[0] == "<IDS|MSG>");
    CHECK(frames[1].size() == 64);
    CHECK_FALSE(m.id.empty());

    auto const back = from_wire(message::channel::stdin_, views(frames), s);
    REQUIRE(back);
    CHECK(back->on == message::channel::stdin_);
    CHECK(back->type == "input_request");
    CHECK(back->id == m.id);
    CHECK(back->session == "s");
    CHECK(back->parent_id == "parent");
    CHECK(back->content == m.content);
    CHECK(back->metadata == m.metadata);
    CHECK(back->buffers == std::vector<std::string>{std::string("\0\xff", 2), ""});
    CHECK(message::field(back->parent_header, "msg_id") == m.id); // what an input_reply names
    CHECK(back->size >= 2);
}

TEST_CASE("wire_format: identities and topics come before the delimiter") {
    signer s("key");
    for (std::size_t count : {0U, 1U, 2U, 16U}) {
        auto frames = valid(s);
        frames.insert(frames.begin(), count, "kernel.status");
        CHECK(from_wire(message::channel::iopub, views(frames), s));
    }
    auto frames = valid(s);
    frames.insert(frames.begin(), 17, "x");
    CHECK(contains(refused(frames, s), "delimiter"));
}

TEST_CASE("wire_format: buffers are not signed and may hold anything") {
    signer s("key");
    auto frames = valid(s);
    frames.push_back("<IDS|MSG>");
    frames.push_back(std::string(1000, '\0'));
    auto const m = from_wire(message::channel::iopub, views(frames), s);
    REQUIRE(m);
    CHECK(m->buffers.size() == 2);
    CHECK(m->buffers[0] == "<IDS|MSG>");
}

TEST_CASE("wire_format: every malformed message is refused with its reason") {
    signer s("key");
    CHECK(contains(refused({}, s), "delimiter"));
    CHECK(contains(refused({""}, s), "delimiter"));
    CHECK(contains(refused({"<IDS|MSG"}, s), "delimiter"));
    CHECK(contains(refused({"<IDS|MSG> "}, s), "delimiter"));

    auto const whole = valid(s);
    for (std::size_t count = 1; count < whole.size(); ++count)
        CHECK(
            contains(refused({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(count)}, s), "fewer frames"));

    auto wrong = whole;
    wrong[1] = std::string(64, '0');
    CHECK(contains(refused(wrong, s), "signature"));
    wrong[1].clear();
    CHECK(contains(refused(wrong, s), "signature"));
    for (std::size_t i = 2; i < 6; ++i) {
        wrong = whole;
        wrong[i] += " ";
        CHECK(contains(refused(wrong, s), "signature"));
    }

    char const* const names[] = {"header", "parent_header", "metadata", "content"};
    for (std::size_t i = 0; i < 4; ++i) {
        for (auto const* bad : {"", "{", "[]", "null", "1", "\"x\"", "{\"a\":}", "{} {}", "\xff\xfe"}) {
            std::vector<std::string> parts = {R"({"msg_id":"1","msg_type":"status"})", "{}", "{}", "{}"};
            parts[i] = bad;
            CAPTURE(bad);
            CHECK(contains(refused(valid(s, parts), s), names[i]));
        }
    }
    for (auto const* header : {"{}", R"({"msg_type":""})", R"({"msg_type":5})", R"({"msg_type":null,"msg_id":"1"})"})
        CHECK(contains(refused(valid(s, {header, "{}", "{}", "{}"}), s), "msg_type"));
}

TEST_CASE("wire_format: deep nesting does no harm") {
    signer s("");
    auto const deep = R"({"a":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
    auto const m = from_wire(message::channel::iopub, views(valid(s, {R"({"msg_type":"x"})", "{}", "{}", deep})), s);
    CHECK((m || m.error() == errc::protocol_error));
}

TEST_CASE("wire_format: bounds") {
    signer s("key");
    wire_limits limits;
    limits.frames = 8;
    auto frames = valid(s);
    frames.insert(frames.end(), 2, "buffer");
    CHECK(from_wire(message::channel::iopub, views(frames), s, limits));
    frames.emplace_back("one more");
    CHECK(contains(refused(frames, s, limits), "too many frames"));

    std::size_t bytes = 0;
    frames = valid(s);
    frames.push_back(std::string(1000, 'x'));
    for (auto const& frame : frames) bytes += frame.size();
    limits.bytes = bytes;
    CHECK(from_wire(message::channel::iopub, views(frames), s, limits));
    limits.bytes = bytes - 1;
    auto const m = from_wire(message::channel::iopub, views(frames), s, limits);
    REQUIRE_FALSE(m);
    CHECK(m.error() == errc::message_too_large);
}

TEST_CASE("wire_format: text that is no UTF-8 goes out replaced, not as an exception") {
    signer s("key");
    message m(message::channel::shell, "execute_request", {{"code", "print('\xff')"}});
    auto const frames = to_wire(m, s);
    CHECK(from_wire(message::channel::shell, views(frames), s));
}
