#include <ipybox/core/base64.hpp>
#include <ipybox/jupyter/display_content.hpp>

#include <support/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace ipybox;
using namespace ipybox::jupyter;
using ipybox::detail::mime_bundle;
using channel = message::channel;
using json = nlohmann::json;
using encoding = mime_bundle::encoding;

namespace {

mime_bundle bundle_of(json data) {
    message m(message::channel::iopub, "display_data", {{"data", std::move(data)}});
    return take_bundle(m);
}

/// A display whose values of these types are in buffers.
message with_raw(json data, json raw, std::vector<std::string> buffers) {
    message m(message::channel::iopub, "display_data", {{"data", std::move(data)}});
    m.metadata = {{"raw", std::move(raw)}};
    m.buffers = std::move(buffers);
    return m;
}

json place(std::string_view type, json index, json kind) {
    return json::array({json::array({"data", type}), std::move(index), std::move(kind)});
}

mime_bundle::entry only(mime_bundle const& b) {
    REQUIRE(b.entries().size() == 1);
    return b.entries().front();
}

std::string const png("\x89PNG\r\n\0\xff", 8);

} // namespace

TEST_CASE("mime_bundle: text types hold text") {
    for (auto const* type : {"text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml",
                             "application/javascript", "x", ""}) {
        CAPTURE(type);
        auto const e = only(bundle_of({{type, "<täxt>"}}));
        CHECK(e.type == type);
        CHECK(e.kind == encoding::text);
        CHECK(e.value == "<täxt>");
    }
}

TEST_CASE("mime_bundle: binary types hold bytes") {
    for (auto const* type :
         {"image/png", "image/jpeg", "audio/wav", "video/mp4", "application/pdf", "application/octet-stream"}) {
        CAPTURE(type);
        auto const e = only(bundle_of({{type, base64_encode(png)}}));
        CHECK(e.kind == encoding::bytes);
        CHECK(e.value == png);
        CHECK(only(bundle_of({{type, base64_encode(png) + "\n"}})).value == png);
        auto const no = only(bundle_of({{type, "no base64!"}}));
        CHECK(no.kind == encoding::text);
        CHECK(no.value == "no base64!");
    }
}

TEST_CASE("mime_bundle: JSON types hold JSON text") {
    for (auto const* type : {"application/json", "application/vnd.plotly.v1+json", "application/geo+json"}) {
        CAPTURE(type);
        auto const e = only(bundle_of({{type, {{"a", {1, 2.5, nullptr}}}}}));
        CHECK(e.kind == encoding::json);
        CHECK(json::parse(e.value) == json{{"a", {1, 2.5, nullptr}}});
        CHECK(only(bundle_of({{type, "text"}})).value == "\"text\"");
        CHECK(only(bundle_of({{type, {"a", "b"}}})).value == R"(["a","b"])"); // a list, not lines
        CHECK(only(bundle_of({{type, nullptr}})).value == "null");
    }
    CHECK(only(bundle_of({{"text/plain", 5}})).kind == encoding::json); // no text at all
}

TEST_CASE("mime_bundle: lists of lines are texts") {
    CHECK(only(bundle_of({{"text/plain", {"one\n", "two"}}})).value == "one\ntwo");
    CHECK(only(bundle_of({{"text/plain", {"one\n", "two"}}})).kind == encoding::text);
    CHECK(only(bundle_of({{"text/plain", json::array()}})).value.empty());
    auto const image = base64_encode(png);
    CHECK(only(bundle_of({{"image/png", {image.substr(0, 4), image.substr(4)}}})).value == png);
    auto const mixed = only(bundle_of({{"text/plain", {"one", 2}}}));
    CHECK(mixed.kind == encoding::json);
    CHECK(mixed.value == R"(["one",2])");
}

TEST_CASE("mime_bundle: ordered by type, found by type") {
    auto const b = bundle_of({{"text/plain", "p"}, {"application/json", 1}, {"text/html", "h"}});
    REQUIRE(b.entries().size() == 3);
    CHECK(b.entries()[0].type == "application/json");
    CHECK(b.entries()[1].type == "text/html");
    CHECK(b.entries()[2].type == "text/plain");
    REQUIRE(b.find("text/html"));
    CHECK(*b.find("text/html") == "h");
    CHECK(b.find("text") == nullptr);
    CHECK(b.size() == 3 + std::string("text/plain"
                                      "application/json"
                                      "text/html")
                              .size());
    CHECK_FALSE(b.empty());
    CHECK(mime_bundle().empty());
}

TEST_CASE("mime_bundle: as Jupyter writes it") {
    auto const data = json{{"image/png", base64_encode(png)}, {"application/json", {{"a", 1}}}, {"text/plain", "x"}};
    CHECK(bundle_of(data).to_json() == data);
    CHECK(mime_bundle().to_json() == json::object());
}

TEST_CASE("take_bundle: no bundle, an empty one") {
    for (json const& content :
         {json::object(), json{{"data", 5}}, json{{"data", nullptr}}, json{{"data", json::array({1})}}}) {
        message m(message::channel::iopub, "display_data", content);
        CHECK(take_bundle(m).empty());
    }
}

TEST_CASE("take_bundle: values in buffers") {
    auto m = with_raw({{"image/png", ""}, {"text/html", ""}, {"text/plain", "short"}},
                      json::array({place("image/png", 1U, "base64"), place("text/html", 0U, "text")}), {"<long>", png});
    auto const b = take_bundle(m);
    REQUIRE(b.entries().size() == 3);
    CHECK(b.entries()[0].kind == encoding::bytes);
    CHECK(b.entries()[0].value == png);
    CHECK(b.entries()[1].kind == encoding::text);
    CHECK(b.entries()[1].value == "<long>");
    CHECK(b.entries()[2].value == "short");
}

TEST_CASE("take_bundle: a text in a buffer means what it would mean in the content") {
    auto const image = base64_encode(png);
    for (json const& data :
         {json{{"image/png", image}}, json{{"image/png", "none!"}}, json{{"application/json", "{\"a\":1}"}},
          json{{"application/json", "no JSON"}}, json{{"text/plain", "p"}}, json{{"image/svg+xml", "<svg/>"}}}) {
        auto const type = data.begin().key();
        CAPTURE(data.dump());
        auto m = with_raw({{type, ""}}, json::array({place(type, 0U, "text")}), {data.begin().value()});
        auto const buffered = only(take_bundle(m));
        auto const inlined = only(bundle_of(data));
        CHECK(buffered.kind == inlined.kind);
        CHECK(buffered.value == inlined.value);
    }
}

TEST_CASE("take_bundle: bytes in a buffer, of whatever type") {
    auto m = with_raw({{"text/x-bytes", ""}}, json::array({place("text/x-bytes", 0U, "base64")}), {png});
    auto const b = take_bundle(m);
    CHECK(only(b).kind == encoding::bytes);
    CHECK(b.to_json()["text/x-bytes"] == base64_encode(png));
}

TEST_CASE("take_bundle: text that is no UTF-8 is carried") {
    auto m = with_raw({{"text/plain", ""}, {"application/json", ""}},
                      json::array({place("text/plain", 0U, "text"), place("application/json", 1U, "text")}),
                      {"\xff\xfe", "\xff"});
    auto const b = take_bundle(m);
    CHECK(*b.find("text/plain") == "\xff\xfe");
    CHECK(*b.find("application/json") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("take_bundle: whatever `raw` says, nothing is read that is not there") {
    json const hostile[] = {
        json(5),
        json::object(),
        json::array({5, nullptr, "x", json::array()}),
        json::array({place("image/png", 1U, "base64")}),
        json::array({place("image/png", -1, "base64")}),
        json::array({place("image/png", 18446744073709551615U, "base64")}),
        json::array({place("image/png", 0.0, "base64")}),
        json::array({place("image/png", "0", "base64")}),
        json::array({place("text/html", 0U, "base64")}), // a type that the data does not have
        json::array({json::array({json::array({"image/png"}), 0U, "base64"})}),
        json::array({json::array({json::array({"data", "image/png", "x"}), 0U, "base64"})}),
        json::array({json::array({json::array({"data", 5}), 0U, "base64"})}),
        json::array({json::array({json::array({5, "image/png"}), 0U, "base64"})}),
        json::array({json::array({"data", 0U, "base64"})}),
        json::array({json::array({json::array({"data", "image/png"}), 0U})}),
    };
    for (auto const& raw : hostile) {
        CAPTURE(raw.dump());
        auto m = with_raw({{"image/png", ""}}, raw, {png});
        CHECK(only(take_bundle(m)).value.empty());
        CHECK(m.buffers[0] == png);
    }
}

TEST_CASE("take_bundle: one buffer named twice, one kind that is none") {
    auto twice =
        with_raw({{"a", ""}, {"b", ""}}, json::array({place("a", 0U, "text"), place("b", 0U, "text")}), {"once"});
    auto const b = take_bundle(twice);
    CHECK(*b.find("a") + *b.find("b") == "once");
    auto odd = with_raw({{"a", ""}}, json::array({place("a", 0U, json::array({1}))}), {"text"});
    CHECK(only(take_bundle(odd)).kind == encoding::text);
}

TEST_CASE("take_bundle: a string that is displayed as JSON is JSON up to the bound of JSON, and text beyond it") {
    std::size_t const bound = std::size_t(8) << 20;
    auto const raw = json::array({place("application/json", 0U, "text")});
    auto at = with_raw({{"application/json", ""}}, raw, {std::string(bound, 'x')});
    auto const taken = take_bundle(at);
    CHECK(only(taken).kind == encoding::json);
    CHECK(only(taken).value.size() == bound + 2); // its quotes
    auto beyond = with_raw({{"application/json", ""}}, raw, {std::string(bound + 1, 'x')});
    auto const kept = take_bundle(beyond);
    CHECK(only(kept).kind == encoding::text);
    CHECK(only(kept).value.size() == bound + 1);
}
