#include <ipybox/jupyter/message.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <set>
#include <string>
#include <string_view>

using namespace ipybox;
using namespace ipybox::jupyter;
using test::contains;

namespace {

result<message> parse(json_frames const& f, channel on = channel::iopub) {
    return from_frames(on, f.header, f.parent_header, f.metadata, f.content);
}

json_frames const plain{R"({"msg_type":"status","msg_id":"1"})", "{}", "{}", "{}"};

/// A message whose text is in a buffer, with whatever `raw` says about it.
message with_raw(json raw, std::vector<std::string> buffers = {"buffered"}) {
    message m(channel::iopub, "stream", {{"name", "stdout"}, {"text", ""}});
    m.metadata = {{"raw", std::move(raw)}};
    m.buffers = std::move(buffers);
    return m;
}

std::string nested(std::string_view open, std::string_view close, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += "1";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
}

} // namespace

TEST_CASE("message: to frames and back") {
    message m(channel::shell, "execute_request",
              {{"code", "print('ü \"quoted\" \\n')\n"}, {"silent", false}, {"n", -1.5}});
    m.session = "session";
    m.metadata = {{"a", {1, nullptr, "x"}}};
    m.parent_header = {{"msg_id", "parent"}, {"username", "u"}};
    auto const frames = to_frames(m);
    CHECK(m.id.size() == 32);
    auto const back = parse(frames, channel::shell);
    REQUIRE(back);
    CHECK(back->on == channel::shell);
    CHECK(back->type == "execute_request");
    CHECK(back->id == m.id);
    CHECK(back->session == "session");
    CHECK(back->parent_id == "parent");
    CHECK(back->parent_header.is_null()); // needed on the stdin channel only
    CHECK(back->content == m.content);
    CHECK(back->metadata == m.metadata);
    CHECK(back->buffers.empty());
    CHECK(back->size ==
          frames.header.size() + frames.parent_header.size() + frames.metadata.size() + frames.content.size());
}

TEST_CASE("message: an id stays, a missing one is made") {
    message m(channel::shell, "t", json::object());
    m.id = "mine";
    (void)to_frames(m);
    CHECK(m.id == "mine");
    std::set<std::string> ids;
    for (int i = 0; i < 100; ++i) CHECK(ids.insert(new_message_id()).second);
    CHECK(ids.begin()->find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("message: without a parent there is an empty one") {
    message m(channel::control, "t", json::object());
    for (json const& none : {json(), json(5), json("x"), json::array()}) {
        m.parent_header = none;
        CHECK(to_frames(m).parent_header == "{}");
    }
}

TEST_CASE("message: the header of a question is kept for its answer") {
    auto const m =
        parse({R"({"msg_type":"input_request","msg_id":"7","session":"s"})", "{}", "{}", "{}"}, channel::stdin_);
    REQUIRE(m);
    CHECK(field(m->parent_header, "msg_id") == "7");
    CHECK(field(m->parent_header, "session") == "s");
}

TEST_CASE("message: text that is no UTF-8 goes out replaced") {
    message m(channel::shell, "execute_request", {{"code", "x = '\xff\xc3'"}});
    m.session = "\x80";
    auto const back = parse(to_frames(m));
    REQUIRE(back);
    CHECK(contains(field(back->content, "code"), "x = '\xef\xbf\xbd"));
}

TEST_CASE("message: each frame that is malformed is named") {
    char const* const names[] = {"header", "parent_header", "metadata", "content"};
    for (std::size_t i = 0; i < 4; ++i) {
        for (auto const* bad : {"", " ", "{", "}", "[]", "null", "true", "1", "\"x\"", "{\"a\":}", "{} {}",
                                "{\"a\":\"\xff\"}", "{'a':1}", "\xef\xbb\xbf{"}) {
            auto f = plain;
            (i == 0 ? f.header : i == 1 ? f.parent_header : i == 2 ? f.metadata : f.content) = bad;
            auto const m = parse(f);
            CAPTURE(names[i], bad);
            REQUIRE_FALSE(m);
            CHECK(m.error() == errc::protocol_error);
            CHECK(contains(m.error().text(), std::string("the ") + names[i] + " of"));
        }
    }
}

TEST_CASE("message: a header without a type") {
    for (auto const* header : {"{}", R"({"msg_type":""})", R"({"msg_type":5})", R"({"msg_type":["a"]})"}) {
        auto const m = from_frames(channel::iopub, header, "{}", "{}", "{}");
        REQUIRE_FALSE(m);
        CHECK(m.error() == errc::protocol_error);
        CHECK(contains(m.error().text(), "msg_type"));
    }
}

TEST_CASE("message: fields of a wrong kind are as good as absent") {
    auto const m = parse({R"({"msg_type":"t","msg_id":5,"session":null})", R"({"msg_id":[]})", "{}", R"({"text":5})"});
    REQUIRE(m);
    CHECK(m->id.empty());
    CHECK(m->session.empty());
    CHECK(m->parent_id.empty());
    CHECK(field(m->content, "text").empty());
    CHECK(field(m->content, "absent").empty());
    CHECK(field(json::array({"a"}), "a").empty());
    CHECK(field(json(), "a").empty());
}

TEST_CASE("message: deep nesting is refused, so that nothing has to recurse through it") {
    for (auto const& [open, close] : {std::pair{"[", "]"}, {R"({"a":)", "}"}}) {
        auto f = plain;
        f.content = R"({"data":)" + nested(open, close, 400) + "}";
        auto const m = parse(f);
        REQUIRE(m);
        CHECK_FALSE(m->content.dump().empty());
        for (auto const depth : {600, 500'000}) {
            for (auto* frame : {&f.header, &f.parent_header, &f.metadata, &f.content}) {
                f = plain;
                *frame = R"({"msg_type":"t","data":)" + nested(open, close, depth) + "}";
                auto const deep = parse(f);
                REQUIRE_FALSE(deep);
                CHECK(deep.error() == errc::protocol_error);
                CHECK(contains(deep.error().text(), "too deeply"));
            }
        }
    }
}

TEST_CASE("message: brackets in texts are no nesting") {
    auto f = plain;
    f.content = json{{"text", std::string(5000, '[') + "\"{\\" + std::string(5000, '{')}}.dump();
    auto const m = parse(f);
    REQUIRE(m);
    CHECK(field(m->content, "text").size() == 10'003);
}

TEST_CASE("take_text: from the content, or from the buffer that stands for it") {
    message plain_text(channel::iopub, "stream", {{"text", "short"}});
    CHECK(take_text(plain_text, "text") == "short");
    CHECK(take_text(plain_text, "absent").empty());

    auto m = with_raw(json::array({json::array({json::array({"text"}), 0U, "text"})}));
    CHECK(take_text(m, "name") == "stdout");
    CHECK(take_text(m, "text") == "buffered");

    auto second = with_raw(json::array({json::array({json::array({"other"}), 0U, "text"}),
                                        json::array({json::array({"text"}), 1U, "text"})}),
                           {"a", "b"});
    CHECK(take_text(second, "text") == "b");
}

TEST_CASE("take_text: whatever `raw` says, nothing is read that is not there") {
    auto const path = json::array({"text"});
    json const hostile[] = {
        json(),
        json(5),
        json("raw"),
        json::object({{"text", 0}}),
        json::array(),
        json::array({1, "x", nullptr}),
        json::array({json::array()}),
        json::array({json::array({path})}),
        json::array({json::array({path, 0U})}),
        json::array({json::array({path, 1U, "text"})}),
        json::array({json::array({path, -1, "text"})}),
        json::array({json::array({path, 18446744073709551615U, "text"})}),
        json::array({json::array({path, 0.5, "text"})}),
        json::array({json::array({path, "0", "text"})}),
        json::array({json::array({path, nullptr, "text"})}),
        json::array({json::array({"text", 0U, "text"})}),
        json::array({json::array({json::array(), 0U, "text"})}),
        json::array({json::array({json::array({"text", "more"}), 0U, "text"})}),
        json::array({json::array({json::array({5}), 0U, "text"})}),
        json::array({json::array({json::array({json::array({"text"})}), 0U, "text"})}),
    };
    for (auto const& raw : hostile) {
        CAPTURE(raw.dump());
        auto m = with_raw(raw);
        CHECK(take_text(m, "text").empty());
        CHECK(m.buffers[0] == "buffered");
    }
    auto none = with_raw(json::array({json::array({path, 0U, "text"})}), {});
    CHECK(take_text(none, "text").empty());
}
