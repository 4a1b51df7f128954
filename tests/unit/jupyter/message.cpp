#include <ipybox/jupyter/display_content.hpp>
#include <ipybox/jupyter/json_frames.hpp>
#include <ipybox/jupyter/message.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <set>
#include <string>
#include <string_view>

using namespace ipybox;
using namespace ipybox::jupyter;
using channel = message::channel;
using json = nlohmann::json;
using test::contains;

namespace {

result<message> parse(json_frames const& f, message::channel on = message::channel::iopub) {
    return from_frames(on, f.header, f.parent_header, f.metadata, f.content);
}

json_frames const plain{R"({"msg_type":"status","msg_id":"1"})", "{}", "{}", "{}"};

/// A message whose text is in a buffer, with whatever `raw` says about it.
message with_raw(json raw, std::vector<std::string> buffers = {"buffered"}) {
    message m(message::channel::iopub, "stream", {{"name", "stdout"}, {"text", ""}});
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
    message m(message::channel::shell, "execute_request",
              {{"code", "print('ü \"quoted\" \\n')\n"}, {"silent", false}, {"n", -1.5}});
    m.session = "session";
    m.metadata = {{"a", {1, nullptr, "x"}}};
    m.parent_header = {{"msg_id", "parent"}, {"username", "u"}};
    auto const frames = to_frames(m);
    CHECK(m.id.size() == 32);
    auto const back = parse(frames, message::channel::shell);
    REQUIRE(back);
    CHECK(back->on == message::channel::shell);
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
    message m(message::channel::shell, "t", json::object());
    m.id = "mine";
    (void)to_frames(m);
    CHECK(m.id == "mine");
    std::set<std::string> ids;
    for (int i = 0; i < 100; ++i) CHECK(ids.insert(message::new_id()).second);
    CHECK(ids.begin()->find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("message: without a parent there is an empty one") {
    message m(message::channel::control, "t", json::object());
    for (json const& none : {json(), json(5), json("x"), json::array()}) {
        m.parent_header = none;
        CHECK(to_frames(m).parent_header == "{}");
    }
}

TEST_CASE("message: the header of a question is kept for its answer") {
    auto const m = parse({R"({"msg_type":"input_request","msg_id":"7","session":"s"})", "{}", "{}", "{}"},
                         message::channel::stdin_);
    REQUIRE(m);
    CHECK(message::field(m->parent_header, "msg_id") == "7");
    CHECK(message::field(m->parent_header, "session") == "s");
}

TEST_CASE("message: text that is no UTF-8 goes out replaced") {
    message m(message::channel::shell, "execute_request", {{"code", "x = '\xff\xc3'"}});
    m.session = "\x80";
    auto const back = parse(to_frames(m));
    REQUIRE(back);
    CHECK(contains(message::field(back->content, "code"), "x = '\xef\xbf\xbd"));
}

TEST_CASE("message: each frame that is malformed is named") {
    char const* const names[] = {"header", "parent_header", "metadata", "content"};
    for (std::size_t i = 0; i < 4; ++i) {
        for (auto const* bad : {"", " ", "{", "}", "[]", "null", "true", "1", "\"x\"", "{\"a\":}", "{} {}",
                                "{\"a\":\"\x01\"}", "{'a':1}", "\xef\xbb\xbf{"}) {
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
        auto const m = from_frames(message::channel::iopub, header, "{}", "{}", "{}");
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
    CHECK(message::field(m->content, "text").empty());
    CHECK(message::field(m->content, "absent").empty());
    CHECK(message::field(json::array({"a"}), "a").empty());
    CHECK(message::field(json(), "a").empty());
}

TEST_CASE("message: deep nesting is refused, so that nothing has to recurse through it") {
    for (auto const& [open, close] : {std::pair{"[", "]"}, {R"({"a":)", "}"}}) {
        auto f = plain;
        f.content = R"({"data":)" + nested(open, close, 400) + "}";
        auto const m = parse(f);
        REQUIRE(m);
        CHECK_FALSE(m->content.dump().empty());
        for (auto const depth : {600, 10'000}) {
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

namespace {

/// A list of so many values, itself counted.
std::string list_of(std::size_t values) {
    std::string text = "[";
    for (std::size_t i = 1; i < values; ++i) text += "0,";
    text.back() = ']';
    return text;
}

void check_bound(json_frames const& within, json_frames const& beyond, errc code, std::string_view said) {
    CHECK(parse(within));
    auto const refused = parse(beyond);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == code);
    CHECK(contains(refused.error().text(), said));
}

/// A display that cannot be read says so itself.
void check_left_out(json_frames const& unread, std::string_view said) {
    auto const m = parse(unread);
    REQUIRE(m);
    CHECK(m->json_texts.empty());
    CHECK(m->content.size() == 1);
    auto const text = message::field(m->content["data"], "text/plain");
    CHECK(contains(text, "is left out, because it cannot be read: the content of a Jupyter message"));
    CHECK(contains(text, said));
}

} // namespace

TEST_CASE("message: what each frame may hold, and one more") {
    message_bounds const bounds;
    auto const with = [](std::string json_frames::* frame, std::string value) {
        auto f = plain;
        auto const type = std::string(R"({"msg_type":"t","x":)");
        f.*frame = type + value + "}";
        return f;
    };
    struct bounded {
        std::string json_frames::* frame;
        ipybox::detail::json_bounds const& most;
    };
    for (auto const& [frame, most] : {bounded{&json_frames::header, bounds.header},
                                      {&json_frames::parent_header, bounds.header},
                                      {&json_frames::metadata, bounds.metadata},
                                      {&json_frames::content, bounds.content}}) {
        auto const text = [&](std::size_t bytes) {
            auto const frame_of_empty = with(frame, R"("")").*frame;
            return with(frame, '"' + std::string(bytes - frame_of_empty.size(), 'x') + '"');
        };
        check_bound(text(most.bytes), text(most.bytes + 1), errc::message_too_large, "KiB");
        // beside the list there are an object, two names and a value
        check_bound(with(frame, list_of(most.values - 4)), with(frame, list_of(most.values - 3)),
                    errc::message_too_large, "values");
        check_bound(with(frame, nested("[", "]", 499)), with(frame, nested("[", "]", 500)), errc::protocol_error,
                    "too deeply");
    }
}

TEST_CASE("message: long JSON that is displayed stays text, and is counted too") {
    message_bounds const bounds;
    auto const shown = [](std::string const& data) {
        auto f = plain;
        f.header = R"({"msg_type":"display_data"})";
        f.content = R"({"data":{)" + data + R"(},"metadata":{"a":[1]}})";
        return f;
    };
    auto const plot = [&](std::size_t values) {
        return shown(R"("application/vnd.plotly.v1+json":)" + list_of(values) + R"(,"text/plain":"plot")");
    };
    auto m = parse(plot(500'000));
    REQUIRE(m);
    CHECK(m->content["data"] == json{{"application/vnd.plotly.v1+json", ""}, {"text/plain", "plot"}});
    CHECK(m->content["metadata"]["a"][0] == 1);
    CHECK(m->json_texts.size() == 1);
    CHECK((m->json_texts.begin()->second == list_of(500'000)));

    // beside the list there are three objects, five names, two values and another list
    CHECK(parse(plot(bounds.displayed.values - 11))->json_texts.size() == 1);
    check_left_out(plot(bounds.displayed.values - 10), "(application/vnd.plotly.v1+json, text/plain)");
    check_left_out(plot(bounds.displayed.values - 10), "values");

    auto const other = [&](std::size_t values) { return shown(R"("text/html":)" + list_of(values)); };
    CHECK(parse(other(bounds.content.values - 100)));
    check_left_out(other(bounds.content.values + 1), "100000 values");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "\"" + std::to_string(i) + "\":" + list_of(120) + ",";
    check_left_out(shown(many + "\"x\":0"), "100000 values"); // together

    auto twice = parse(shown("\"application/json\":" + list_of(5000) + ",\"application/json\":[1]"));
    REQUIRE(twice);
    CHECK(twice->json_texts.empty());
    CHECK(twice->content["data"]["application/json"] == json{1});

    for (std::string const bad : {"[1,]", "[01]", "[\"\x01\"]", "[1", "[nul]", "{\"a\" 1}"}) {
        check_left_out(shown("\"application/json\":[" + list_of(5000) + "," + bad + "]"), "is no JSON object");
    }
    check_left_out(shown("\"application/json\":" + nested("[", "]", 600)), "(application/json)");
    check_left_out(shown("\"text/plain\":" + std::string(400, '9')), "(text/plain)");
    auto replaced = parse(shown("\"application/json\":[" + list_of(5000) + ",\"\xff\"]"));
    REQUIRE(replaced);
    CHECK(replaced->json_texts.begin()->second.ends_with(",\"\xef\xbf\xbd\"]"));
}

TEST_CASE("message: numbers of a display have as many digits as they had") {
    auto const parsed = [](std::string const& json, std::string const& metadata) {
        auto f = plain;
        f.header = R"({"msg_type":"display_data"})";
        f.content = R"({"data":{"application/json":)" + json + R"(},"metadata":)" + metadata + "}";
        return parse(f);
    };
    std::string const huge(400, '7');
    for (auto const& number :
         {huge, "-" + huge, std::string("18446744073709551616"), "1." + huge, std::string("1e400")}) {
        CAPTURE(number);
        auto m = parsed("{\"n\": [" + number + "]}", "{\"n\":" + number + "}");
        REQUIRE(m);
        CHECK(m->metadata_text == "{\"n\":" + number + "}");
        CHECK(take_bundle(*m).entries().front().value == "{\"n\": [" + number + "]}");
        auto alone = parsed(number, "{}");
        REQUIRE(alone);
        CHECK(take_bundle(*alone).entries().front().value == number);
    }
    auto small = parsed(R"({"b": 1, "a": [0.5, "1234567890123456789012"]})", R"({"n": 12})");
    REQUIRE(small);
    CHECK(small->metadata_text.empty());
    CHECK(take_bundle(*small).entries().front().value == R"({"a":[0.5,"1234567890123456789012"],"b":1})");
}

TEST_CASE("message: content that the host has no use for is left out when it is too large") {
    auto f = plain;
    f.header = R"({"msg_type":"comm_msg"})";
    f.content = R"({"data":)" + list_of(1000) + "}";
    auto const small = parse(f);
    REQUIRE(small);
    CHECK(small->content["data"].size() == 999);
    f.content = R"({"data":)" + list_of(200'000) + "}";
    auto const large = parse(f);
    REQUIRE(large);
    CHECK(large->content == json::object());
}

TEST_CASE("message: of the header of a question its answer repeats what names it") {
    auto const m =
        parse({R"({"msg_type":"input_request","msg_id":"7","session":"s","more":")" + std::string(60'000, 'x') + "\"}",
               "{}", "{}", "{}"},
              message::channel::stdin_);
    REQUIRE(m);
    CHECK(m->parent_header == json{{"msg_id", "7"}, {"msg_type", "input_request"}, {"session", "s"}});
}

TEST_CASE("message: brackets in texts are no nesting") {
    auto f = plain;
    f.content = json{{"text", std::string(5000, '[') + "\"{\\" + std::string(5000, '{')}}.dump();
    auto const m = parse(f);
    REQUIRE(m);
    CHECK(message::field(m->content, "text").size() == 10'003);
}

TEST_CASE("take_text: from the content, or from the buffer that stands for it") {
    message plain_text(channel::iopub, "stream", {{"text", "short"}});
    CHECK(plain_text.take_text("text") == "short");
    CHECK(plain_text.take_text("absent").empty());

    auto m = with_raw(json::array({json::array({json::array({"text"}), 0U, "text"})}));
    CHECK(m.take_text("name") == "stdout");
    CHECK(m.take_text("text") == "buffered");

    auto second = with_raw(json::array({json::array({json::array({"other"}), 0U, "text"}),
                                        json::array({json::array({"text"}), 1U, "text"})}),
                           {"a", "b"});
    CHECK(second.take_text("text") == "b");
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
        CHECK(m.take_text("text").empty());
        CHECK(m.buffers[0] == "buffered");
    }
    auto none = with_raw(json::array({json::array({path, 0U, "text"})}), {});
    CHECK(none.take_text("text").empty());
}
