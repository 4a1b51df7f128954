#include <ipybox/mcp/write_call_result.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace ipybox;
using nlohmann::json;

mcp::server::client_description speaking(std::string spoken) {
    mcp::server::client_description client;
    client.is_stateless = spoken == "2026-07-28";
    client.version = std::move(spoken);
    return client;
}

json written_for(std::string const& spoken, mcp::call_result const& r) {
    return json::parse(mcp::write_call_result(r, speaking(spoken)));
}

} // namespace

TEST_CASE("write_call_result: what is written is read back") {
    mcp::call_result r;
    json const said{{"audience", {"user"}}};
    r.content.emplace_back(mcp::content::text{"text \"quoted\"\n\xc3\xa4"}, said);
    r.content.emplace_back(mcp::content::image{"QUJD", "image/png"});
    r.content.emplace_back(mcp::content::audio{"QUJD", "audio/wav"});
    r.content.emplace_back(mcp::content::resource_link{"file:///a", "a", "A", "an a", "text/plain"}, said);
    r.content.emplace_back(mcp::content::embedded_resource{"file:///b", "text/plain", "content", {}});
    r.content.emplace_back(mcp::content::embedded_resource{"file:///c", {}, {}, "QUJD"});
    r.content.emplace_back(mcp::content::unknown{"new", nlohmann::ordered_json{{"type", "new"}, {"x", 1}}});
    r.structured_content = *mcp::raw_json::read(R"({"b":[1,12345678901234567890123],"a":null})");
    r.meta = json{{"com.example/key \"q\"", {1, 2}}};
    for (auto const* const spoken : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        auto const text = mcp::write_call_result(r, speaking(spoken));
        auto const read = mcp::detail::read_call_result(text);
        REQUIRE(read);
        CHECK_FALSE(read->is_error);
        REQUIRE(read->content.size() == r.content.size());
        for (std::size_t i = 0; i < r.content.size(); ++i)
            CHECK(read->content[i].value.index() == r.content[i].value.index());
        auto const& link = std::get<mcp::content::resource_link>(read->content[3].value);
        CHECK(link.title == "A");
        CHECK(link.mime_type == "text/plain");
        CHECK(read->content[3].annotations == said);
        CHECK(std::get<mcp::content::text>(read->content[0].value).value == "text \"quoted\"\n\xc3\xa4");
        CHECK(std::get<mcp::content::embedded_resource>(read->content[5].value).base64 == "QUJD");
        REQUIRE(read->structured_content);
        CHECK(read->structured_content->text() == r.structured_content->text());
        CHECK(read->meta == r.meta);
        CHECK(text.find('\n') == std::string::npos);
    }
}

TEST_CASE("write_call_result: what a spoken does not know becomes text") {
    mcp::call_result r;
    r.content.emplace_back(mcp::content::audio{"QUJD", "audio/wav"});
    r.content.emplace_back(mcp::content::resource_link{"file:///a", "a"});
    auto const type = [&](std::string const& spoken, int block) {
        return written_for(spoken, r)["content"][block]["type"];
    };
    CHECK(type("2024-11-05", 0) == "text");
    CHECK(type("2025-03-26", 0) == "audio");
    CHECK(type("2025-03-26", 1) == "text");
    CHECK(type("2025-06-18", 1) == "resource_link");
}

TEST_CASE("write_call_result: structured content") {
    for (auto const* const value : {R"({"x":1})", "[1,2]", "0", "false", "null", "\"text\""}) {
        CAPTURE(value);
        mcp::call_result r;
        r.structured_content = *mcp::raw_json::read(value);
        bool const is_object = value[0] == '{';
        CHECK_FALSE(written_for("2025-03-26", r).contains("structuredContent"));
        CHECK(written_for("2025-11-25", r).contains("structuredContent") == is_object);
        CHECK(written_for("2026-07-28", r)["structuredContent"] == json::parse(value));
        for (auto const* const spoken : {"2024-11-05", "2025-11-25", "2026-07-28"})
            CHECK(written_for(spoken, r)["content"] ==
                  json::parse(R"([{"type":"text"}])")
                      .patch(json::parse(R"([{"op":"add","path":"/0/text","value":)" + json(value).dump() + "}]")));
        r.content.emplace_back(mcp::content::text{"said otherwise"});
        CHECK(written_for("2026-07-28", r)["content"].size() == 1);
    }
}

TEST_CASE("write_call_result: text that is not UTF-8, and no content") {
    mcp::call_result r;
    CHECK(written_for("2025-11-25", r) == json::parse(R"({"content":[],"isError":false})"));
    r.is_error = true;
    r.content.emplace_back(mcp::content::text{"a\xff"});
    auto const text = mcp::write_call_result(r, speaking("2025-11-25"), {{"x", "1"}}, {{"y", "2"}});
    CHECK(json::parse(text) == json::parse(R"({"x":1,"content":[{"type":"text","text":"a\ufffd"}],"isError":true,)"
                                           R"("_meta":{"y":2}})"));
}
