#include <ipybox/mcp/call_result.hpp>

#include <support/catch.hpp>

#include <string>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;

call_result read(std::string const& text, ipybox::mcp::detail::era spoken = ipybox::mcp::detail::era::handshake) {
    auto r = ipybox::mcp::detail::read_call_result(text, spoken);
    REQUIRE(r);
    return std::move(*r);
}

template <class T>
T only(std::string const& block) {
    auto const r = read(R"({"content":[)" + block + "]}");
    REQUIRE(r.content.size() == 1);
    REQUIRE(std::holds_alternative<T>(r.content[0].value));
    return std::get<T>(r.content[0].value);
}

} // namespace

TEST_CASE("call_result: every kind of content is kept, in order") {
    auto const r = read(R"({"_meta":{"cost":3},"content":[
        {"type":"text","text":"a","annotations":{"priority":0.5}},
        {"type":"image","data":"iVBORw==","mimeType":"image/png"},
        {"type":"audio","mimeType":"audio/wav","data":"UklGRg=="},
        {"type":"resource_link","uri":"file:///x","name":"x","title":"X","description":"d","mimeType":"text/plain"},
        {"type":"resource","resource":{"uri":"test://a","mimeType":"text/plain","text":"t"},"annotations":{"audience":["user"]}},
        {"type":"resource","resource":{"uri":"test://b","blob":"AAEC","annotations":{"priority":1}}},
        {"type":"hologram","depth":3},
        {"text":"b","type":"text"}]})");
    REQUIRE(r.content.size() == 8);
    CHECK_FALSE(r.is_error);
    CHECK(r.meta == json{{"cost", 3}});
    CHECK_FALSE(r.structured_content);
    auto const& text = std::get<content::text>(r.content[0].value);
    CHECK(text.value == "a");
    CHECK(r.content[0].annotations == json{{"priority", 0.5}});
    auto const& image = std::get<content::image>(r.content[1].value);
    CHECK(image.base64 == "iVBORw==");
    CHECK(image.mime_type == "image/png");
    CHECK_FALSE(r.content[1].annotations);
    CHECK(std::get<content::audio>(r.content[2].value).mime_type == "audio/wav");
    auto const& link = std::get<content::resource_link>(r.content[3].value);
    CHECK(link.uri == "file:///x");
    CHECK(link.name == "x");
    CHECK(link.title == "X");
    CHECK(link.description == "d");
    CHECK(link.mime_type == "text/plain");
    auto const& inner = std::get<content::embedded_resource>(r.content[4].value);
    CHECK(inner.uri == "test://a");
    CHECK(inner.text == "t");
    CHECK_FALSE(inner.base64);
    CHECK(r.content[4].annotations == json{{"audience", {"user"}}});
    auto const& blob = std::get<content::embedded_resource>(r.content[5].value);
    CHECK(blob.base64 == "AAEC");
    CHECK_FALSE(blob.mime_type);
    CHECK(r.content[5].annotations == json{{"priority", 1}});
    auto const& unknown = std::get<content::unknown>(r.content[6].value);
    CHECK(unknown.type == "hologram");
    CHECK(unknown.value == nlohmann::ordered_json{{"type", "hologram"}, {"depth", 3}});
    CHECK(r.text() == "a\nb");
}

TEST_CASE("call_result: structured content counts by presence") {
    using ipybox::mcp::detail::era;
    for (auto const* const value : {"{}", "[]", "0", "false", "null", "\"\"", R"({"a":[1]})"}) {
        auto const r = read(R"({"content":[],"structuredContent":)" + std::string(value) + "}", era::stateless);
        CAPTURE(value);
        REQUIRE(r.structured_content.has_value());
        CHECK(r.structured_content->text() == value);
    }
    CHECK_FALSE(read(R"({"content":[]})").structured_content);
}

TEST_CASE("call_result: null stands for what is left out, in every version that knows no value null") {
    auto const r = read(R"({"content":[null,{"type":"text","text":"kept","annotations":null,"_meta":null},
        {"type":"resource","resource":{"uri":"x://y","blob":"AAEC","mimeType":null,"text":null}},
        {"type":"resource_link","uri":"x://y","name":"n","title":null,"description":null,"mimeType":null,"size":null},
        {"type":"text","text":null}],"structuredContent":null,"isError":null,"_meta":null,"resultType":null})");
    REQUIRE(r.content.size() == 4);
    CHECK(r.text() == "kept\n");
    CHECK_FALSE((r.structured_content || r.meta || r.is_error || r.content[0].annotations));
    auto const& blob = std::get<content::embedded_resource>(r.content[1].value);
    CHECK((blob.base64 == "AAEC" && !blob.mime_type && !blob.text));
    CHECK_FALSE(std::get<content::resource_link>(r.content[2].value).title);

    auto const structured = read(R"({"content":null,"structuredContent":{"n":1}})");
    REQUIRE(structured.structured_content);
    CHECK(structured.structured_content->text() == R"({"n":1})");
    CHECK(read(R"({"content":null})").content.empty());
    // an object before 2026-07-28
    CHECK_FALSE(read(R"({"content":[{"type":"text","text":"kept"}],"structuredContent":""})").structured_content);
    CHECK(read(R"({"content":[],"structuredContent":""})").structured_content);
}

TEST_CASE("call_result: a tool that failed") {
    CHECK(read(R"({"content":[{"type":"text","text":"why"}],"isError":true})").is_error);
    CHECK_FALSE(read(R"({"isError":false,"content":[]})").is_error);
    CHECK_FALSE(read(R"({"isError":"true"})").is_error);
}

TEST_CASE("call_result: blocks that lack something are there all the same") {
    CHECK(only<content::text>(R"({"type":"text"})").value.empty());
    CHECK(only<content::text>(R"({"type":"text","text":7})").value.empty());
    CHECK(only<content::image>(R"({"type":"image","data":null})").base64.empty());
    CHECK(only<content::unknown>(R"({"type":"resource"})").type == "resource");
    CHECK(only<content::unknown>(R"({"type":"resource","resource":[]})").type == "resource");
    CHECK(only<content::unknown>("{}").type.empty());
    CHECK(only<content::unknown>(R"({"type":7})").value == json{{"type", 7}});
}

TEST_CASE("call_result: what is no result") {
    for (auto const* const text :
         {"", "null", "[]", "7", "{", R"({"content":7})", R"({"content":[nope]})",
          R"({"content":[{"type":"text","text":"a]})", R"({"content":[{"type":"x","v":nonsense}]})",
          R"({"structuredContent":nope})", R"({"content":[]} more)"}) {
        CAPTURE(text);
        auto const r = ipybox::mcp::detail::read_call_result(text);
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::protocol_error);
    }
}

TEST_CASE("call_result: a block that is none of them costs no other, and what cannot be read is named") {
    auto const r = read(R"({"content":[{"type":"text","text":"a"},7,{"type":"text","text":"b"}]})");
    CHECK(r.content.size() == 3);
    CHECK(std::get<content::unknown>(r.content[1].value).value == 7);
    CHECK(r.text() == "a\nb");
    CHECK(
        ipybox::mcp::detail::read_call_result(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":"\x"}]})")
            .error()
            .text() ==
        "answered `tools/call` with a result whose block 2 of `content` is not JSON, or nests too deeply");
    auto const deep = std::string(600, '[') + std::string(600, ']');
    CHECK(ipybox::mcp::detail::read_call_result(R"({"content":[],"structuredContent":)" + deep + "}").error().text() ==
          "answered `tools/call` with `structuredContent` that is nested too deeply");
}

TEST_CASE("call_result: members about a result that cannot be read cost nothing of it") {
    auto const r = read(R"({"_meta":{"x":1e400},"structuredContent":{"x":1e400},)"
                        R"("content":[{"type":"text","text":"a","annotations":{"priority":1e400}}]})");
    CHECK(r.text() == "a");
    CHECK_FALSE(r.structured_content);
    CHECK_FALSE(r.meta);
}
