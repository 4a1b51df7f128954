#include <support/catch.hpp>

#include <cli/json_output.hpp>
#include <nlohmann/json.hpp>
#include <unit/cli/captured_output.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using nlohmann::json;

/// The line that an event becomes.
json line_of(std::function<void(ipybox::cli::cell_output&)> const& event) {
    ipybox::test::captured_output captured;
    auto file = captured.file();
    ipybox::cli::json_output output(file);
    event(output);
    auto const text = captured.text();
    REQUIRE(text.find('\n') == text.size() - 1);
    return json::parse(text);
}

json line_of(ipybox::result<ipybox::execution_result> const& result) {
    return line_of([&](ipybox::cli::cell_output& output) { output.finished(3, result); });
}

} // namespace

TEST_CASE("A chunk becomes a line") {
    auto const line = line_of([](ipybox::cli::cell_output& output) {
        output.text(0, {ipybox::output_chunk::stream_name::stderr_, "two\nlines"});
    });
    CHECK(line == json{{"event", "chunk"}, {"cell", 0}, {"stream", "stderr"}, {"text", "two\nlines"}});
}

TEST_CASE("Text that is not UTF-8 is replaced") {
    auto const line = line_of([](ipybox::cli::cell_output& output) { output.text(0, {{}, "a\xFF\xED\xA0\x80z"}); });
    auto const text = line["text"].get<std::string>();
    CHECK(text.starts_with("a\xEF\xBF\xBD"));
    CHECK(text.ends_with("z"));
}

TEST_CASE("A display becomes a line with all of its forms") {
    ipybox::display shown;
    shown.kind = ipybox::display::message_type::update_display_data;
    shown.data.add({"text/plain", ipybox::display::mime_bundle::encoding::text, "42"});
    shown.data.add({"image/png", ipybox::display::mime_bundle::encoding::bytes, "\x89PNG"});
    shown.metadata = R"({"image/png": {"width": 3}})";
    shown.id = "d1";
    shown.image = "images/1.png";
    auto const line = line_of([&](ipybox::cli::cell_output& output) { output.shown(1, shown); });
    CHECK(line == json{{"event", "display"},
                       {"cell", 1},
                       {"kind", "update_display_data"},
                       {"data", {{"text/plain", "42"}, {"image/png", "iVBORw=="}}},
                       {"metadata", {{"image/png", {{"width", 3}}}}},
                       {"display_id", "d1"},
                       {"image", "images/1.png"},
                       {"spill_file", nullptr}});
}

TEST_CASE("An approval becomes a line, for a tool") {
    ipybox::approval_request const request(
        {.id = 7,
         .kind = ipybox::approval_subject::action::tool,
         .server = "github",
         .tool = "search",
         .arguments = std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"q", "x"}}),
         .code = "search()"});
    auto const line = line_of([&](ipybox::cli::cell_output& output) { output.approval_wanted(2, request); });
    CHECK(line == json{{"event", "approval"},
                       {"cell", 2},
                       {"id", 7},
                       {"kind", "tool"},
                       {"server", "github"},
                       {"tool", "search"},
                       {"arguments", {{"q", "x"}}},
                       {"argv", json::array()},
                       {"cwd", ""},
                       {"env_difference", json::object()},
                       {"stdin", ""},
                       {"code", "search()"}});
}

TEST_CASE("An approval becomes a line, for a command") {
    ipybox::approval_request const request({.kind = ipybox::approval_subject::action::shell,
                                            .argv = {"ls", "\xFF"},
                                            .cwd = "/work",
                                            .env = {{"A", "1"}, {"B", std::nullopt}},
                                            .input = "typed"});
    auto const line = line_of([&](ipybox::cli::cell_output& output) { output.approval_wanted(0, request); });
    CHECK(line["kind"] == "shell");
    CHECK(line["arguments"] == nullptr);
    CHECK(line["argv"] == json{"ls", "\xEF\xBF\xBD"});
    CHECK(line["cwd"] == "/work");
    CHECK(line["env_difference"] == json{{"A", "1"}, {"B", nullptr}});
    CHECK(line["stdin"] == "typed");
}

TEST_CASE("Metadata that is no object is left out") {
    ipybox::display shown;
    shown.metadata = "broken";
    auto const line = line_of([&](ipybox::cli::cell_output& output) { output.shown(1, shown); });
    CHECK(line["metadata"] == json::object());
}

TEST_CASE("A result becomes a line") {
    ipybox::execution_result result;
    result.text = "hello";
    result.images = {"a.png", "b.png"};
    result.elapsed = std::chrono::milliseconds(1500);
    result.kernel_restarted = true;
    result.spill_file = "/tmp/all.txt";
    CHECK(line_of(result) == json{{"event", "result"},
                                  {"cell", 3},
                                  {"status", "ok"},
                                  {"exit_code", nullptr},
                                  {"text", "hello"},
                                  {"images", {"a.png", "b.png"}},
                                  {"seconds", 1.5},
                                  {"error", nullptr},
                                  {"kernel_restarted", true},
                                  {"spill_file", "/tmp/all.txt"}});
}

TEST_CASE("An exception is in the result's line, with the output before it") {
    ipybox::error::python_exception const exception{"ValueError", "bad \xFF", {"Traceback", "ValueError: bad"}};
    ipybox::execution_result before;
    before.text = "until then";
    ipybox::error error(ipybox::errc::python_error, exception);
    error.with_output(std::make_shared<ipybox::execution_result const>(before));
    auto const line = line_of(tl::unexpected(error));
    CHECK(line["status"] == "error");
    CHECK(line["text"] == "until then");
    CHECK(line["error"]["ename"] == "ValueError");
    CHECK(line["error"]["evalue"] == "bad \xEF\xBF\xBD");
    CHECK(line["error"]["traceback"] == json{"Traceback", "ValueError: bad"});
}

TEST_CASE("Each kind of failure has its status and a name") {
    using ipybox::errc;
    auto const words = [](errc code) {
        auto const line = line_of(ipybox::failure(code, "why"));
        CHECK(line["error"]["evalue"] == "why");
        CHECK(line["error"]["traceback"] == json::array());
        CHECK(line["text"] == "");
        return std::pair(line["status"].get<std::string>(), line["error"]["ename"].get<std::string>());
    };
    using names = std::pair<std::string, std::string>;
    CHECK(words(errc::timed_out) == names{"timeout", "TimeoutError"});
    CHECK(words(errc::cancelled) == names{"cancelled", "CancelledError"});
    CHECK(words(errc::not_running) == names{"cancelled", "CancelledError"});
    CHECK(words(errc::kernel_died) == names{"kernel_died", "KernelDied"});
    CHECK(words(errc::supervisor_died) == names{"kernel_died", "KernelDied"});
    CHECK(words(errc::io_error) == names{"error", "IpyboxError"});
}
