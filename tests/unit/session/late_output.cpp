#include <ipybox/core/utf8.hpp>
#include <ipybox/session/late_output.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

namespace {

using namespace ipybox;
using detail::late_output;

jupyter::message late_text(std::string text, std::string stream = "stdout") {
    return {jupyter::message::channel::iopub, "stream", {{"name", std::move(stream)}, {"text", std::move(text)}}};
}

jupyter::message late_display(std::string text, std::string type = "display_data") {
    return {jupyter::message::channel::iopub, std::move(type), {{"data", {{"text/html", std::move(text)}}}}};
}

/// What is kept, in order: "o:" and "e:" before text, "d:" before displays.
std::string taken(late_output& late) {
    std::string all;
    for (auto const& step : late.take()) {
        if (auto const* chunk = std::get_if<output_chunk>(&step))
            all += (chunk->stream == output_chunk::stream_name::stderr_ ? "e:" : "o:") + chunk->text;
        else if (auto const* d = std::get_if<display>(&step))
            all += "d:" + *d->data.find("text/html");
        else
            all += "other";
        all += "|";
    }
    return all;
}

} // namespace

TEST_CASE("late_output: text with its stream and displays, in order") {
    late_output late;
    late.keep(late_text("a"));
    late.keep(late_text("b"));
    late.keep(late_text("c", "stderr"));
    late.keep(late_display("d"));
    late.keep(late_text("e", "stderr"));
    late.keep({jupyter::message::channel::iopub, "status", {{"execution_state", "idle"}}});
    late.keep({jupyter::message::channel::shell, "execute_reply", {{"status", "ok"}}});
    late.keep({jupyter::message::channel::iopub, "clear_output", {{"wait", false}}});
    CHECK(taken(late) == "o:ab|e:c|d:d|e:e|other|");
    CHECK(taken(late).empty());
}

TEST_CASE("late_output: of more than its bound the oldest is dropped, between two characters") {
    late_output late;
    std::string text = "x"; // so that no piece ends where a character does by itself
    while (text.size() < 3 * late_output::bound) text += "é€";
    late.keep(late_text(text));
    for (int i = 0; i < 1000; ++i) late.keep(late_text("€", i % 2 ? "stderr" : "stdout"));
    late.keep(late_text("end"));
    std::size_t bytes = 0;
    std::string all;
    for (auto const& step : late.take()) {
        auto const* chunk = std::get_if<output_chunk>(&step);
        REQUIRE(chunk);
        REQUIRE(is_utf8(chunk->text));
        bytes += chunk->text.size() + sizeof step;
        all += chunk->text;
    }
    CHECK(bytes <= late_output::bound);
    CHECK(all.size() > late_output::bound / 2);
    CHECK(all.substr(all.size() - 6) == "€end");
}

TEST_CASE("late_output: displays count, and too large ones are dropped with all before them") {
    late_output late;
    late.keep(late_text("before"));
    late.keep(late_display(std::string(late_output::bound, 'x')));
    CHECK(taken(late).empty());
    for (int i = 0; i < 10; ++i) late.keep(late_display(std::to_string(i) + std::string(late_output::bound / 3, 'x')));
    auto const all = taken(late);
    CHECK(all.substr(0, 3) == "d:8");
    CHECK(all.size() < late_output::bound);
}
