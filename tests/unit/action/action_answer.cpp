#include <ipybox/action/action_answer.hpp>
#include <ipybox/core/base64.hpp>

#include <support/catch.hpp>

using namespace ipybox;
using namespace ipybox::detail;
using nlohmann::json;

namespace {

json head_of(action_frame const& frame) { return json::parse(frame.head); }

mcp::call_result texts(std::vector<std::string> blocks) {
    mcp::call_result returned;
    for (auto& block : blocks) returned.content.emplace_back(mcp::content::text{std::move(block)});
    return returned;
}

} // namespace

TEST_CASE("action answers: text blocks are one text") {
    auto const frame = result_answer(4, texts({"one", "two"}));
    CHECK(head_of(frame) == json{{"op", "result"}, {"id", 4}, {"text", true}, {"parts", json::array()}});
    CHECK(frame.body == "one\ntwo");
}

TEST_CASE("Q12 action answers: structured content counts by its presence, not by its truth") {
    for (auto const& value : {json::object(), json(nullptr), json(0), json(false)}) {
        auto returned = texts({"said differently"});
        returned.structured_content = *mcp::raw_json::of(value);
        auto const frame = result_answer(1, returned);
        CHECK(head_of(frame)["text"] == false);
        CHECK(json::parse(frame.body) == value);
    }
}

TEST_CASE("Q12 action answers: pictures, sound and files arrive as bytes") {
    auto returned = texts({"look"});
    returned.content.emplace_back(mcp::content::image{base64_encode("PNG"), "image/png"});
    returned.content.emplace_back(mcp::content::audio{base64_encode("WAVE"), "audio/wav"});
    mcp::content::embedded_resource file;
    file.uri = "file:///a";
    file.base64 = base64_encode("ZIP!!");
    returned.content.emplace_back(std::move(file));

    auto const frame = result_answer(1, returned);
    CHECK(head_of(frame)["parts"] ==
          json{{{"type", "image"}, {"mime", "image/png"}, {"size", 3}},
               {{"type", "audio"}, {"mime", "audio/wav"}, {"size", 4}},
               {{"type", "blob"}, {"mime", "application/octet-stream"}, {"uri", "file:///a"}, {"size", 5}}});
    CHECK(frame.body == "lookPNGWAVEZIP!!");
}

TEST_CASE("action answers: links and files of text are read with the text, and keep what is said of them") {
    auto returned = texts({"look"});
    mcp::content::resource_link link;
    link.uri = "file:///b";
    link.name = "b";
    link.description = "the second";
    link.mime_type = "text/csv";
    returned.content.emplace_back(std::move(link));
    mcp::content::embedded_resource file;
    file.uri = "file:///c";
    file.text = "words";
    returned.content.emplace_back(std::move(file));

    auto const frame = result_answer(1, returned);
    json const parts = {{{"type", "link"},
                         {"uri", "file:///b"},
                         {"name", "b"},
                         {"description", "the second"},
                         {"mime", "text/csv"},
                         {"size", 0}},
                        {{"type", "document"}, {"mime", "text/plain"}, {"uri", "file:///c"}, {"size", 5}}};
    CHECK(head_of(frame)["parts"] == parts);
    CHECK(frame.body == "look\nfile:///b\nwordswords");

    returned.structured_content = *mcp::raw_json::read("5");
    auto const structured = result_answer(1, returned);
    CHECK(head_of(structured)["parts"] == parts);
    CHECK(structured.body == "5words");
}

TEST_CASE("action answers: a picture that is no base64 arrives as what it is") {
    auto returned = texts({"look"});
    returned.content.emplace_back(mcp::content::image{"no base64!", "image/png"});
    auto const frame = result_answer(1, returned);
    CHECK(head_of(frame)["parts"] == json{{{"type", "unreadable"}, {"mime", "image/png"}, {"size", 10}}});
    CHECK(frame.body == "lookno base64!");
}

TEST_CASE("action answers: a tool that failed") {
    auto returned = texts({"no such file"});
    returned.is_error = true;
    CHECK(head_of(result_answer(1, returned)) ==
          json{{"op", "error"}, {"id", 1}, {"kind", "tool"}, {"text", "no such file"}});
    returned.content.clear();
    CHECK(head_of(result_answer(1, returned))["text"] != "");
    returned.structured_content = mcp::raw_json::of(json{{"code", 7}}).value();
    CHECK(head_of(result_answer(1, returned))["text"] == R"({"code":7})");
}

TEST_CASE("action answers: a rejection tells who decided") {
    auto const head = head_of(rejected_answer(3, {decision::reject("no\nbelow"), error::decider::rule, "deny[0]"}));
    CHECK(head == nlohmann::json{{"op", "error"}, {"id", 3}, {"kind", "rejected"}, {"text", "no"}, {"by", "rule"}});
    CHECK(head_of(rejected_answer(3, {decision::reject("late"), error::decider::timeout}))["kind"] ==
          "approval_timeout");
    CHECK(head_of(rejected_answer(3, {decision::reject(""), error::decider::no_policy}))["by"] == "no_policy");
}

TEST_CASE("action answers: errors, of which only the first line leaves the host") {
    auto const kind = [](errc code) { return head_of(error_answer(1, error(code, "why\nsecret")))["kind"]; };
    CHECK(kind(errc::approval_rejected) == "rejected");
    CHECK(kind(errc::audit_failed) == "rejected");
    CHECK(kind(errc::approval_timed_out) == "approval_timeout");
    CHECK(kind(errc::cancelled) == "cancelled");
    CHECK(kind(errc::mcp_server_died) == "server");
    CHECK(kind(errc::mcp_server_unknown) == "server");
    CHECK(kind(errc::program_not_started) == "exec");
    CHECK(kind(errc::not_running) == "unavailable");
    CHECK(head_of(error_answer(1, error(errc::mcp_start_failed, "it ended\nwith this on its stderr")))["text"] ==
          "it ended");
}

TEST_CASE("action answers: what the system said becomes the right exception") {
    auto const missing = error(errc::program_not_started, "x: not found").with_cause({2, std::generic_category()});
    CHECK(head_of(error_answer(1, missing))["errno"] == 2);
    CHECK_FALSE(head_of(error_answer(1, error(errc::program_not_started, "x"))).contains("errno"));
}

TEST_CASE("action answers: how a program ended") {
    CHECK(head_of(exited_answer(2, {3, std::nullopt})) ==
          json{{"op", "exited"}, {"id", 2}, {"code", 3}, {"signal", nullptr}});
    CHECK(head_of(exited_answer(2, {std::nullopt, 9})) ==
          json{{"op", "exited"}, {"id", 2}, {"code", nullptr}, {"signal", 9}});
}

TEST_CASE("action answers: text that is no UTF-8 does no harm") {
    CHECK(head_of(error_answer(1, error(errc::io_error, "\xff\xfe")))["text"].is_string());
}

TEST_CASE(
    "action answers: what a server refused with comes whole, of other texts only the first line is the kernel's") {
    auto const refused = error_answer(1, error(errc::mcp_refused, "refused: [\n  {}\n] (-32602)\ndata: {\"a\":1}"));
    CHECK(head_of(refused)["text"] == "refused: [\n  {}\n] (-32602)\ndata: {\"a\":1}");
    CHECK(head_of(error_answer(1, error(errc::mcp_server_died, "ended\nits secret stderr")))["text"] == "ended");
}
