#include <ipybox/app/cell_answer.hpp>
#include <ipybox/core/base64.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <variant>

namespace {

using namespace ipybox;
using ipybox::test::contains;

cell_view cell_that_printed(std::string text) {
    cell_view cell;
    cell.id = "3";
    cell.state = detail::job_state::ended;
    cell.output.to = cell.output.end = text.size();
    cell.output.text = std::move(text);
    cell.outcome = execution_result();
    return cell;
}

cell_view cell_that_failed(error why, std::string printed = {}, bool restarted = false) {
    auto cell = cell_that_printed(std::move(printed));
    execution_result brought;
    brought.kernel_restarted = restarted;
    why.with_output(std::make_shared<execution_result const>(std::move(brought)));
    cell.outcome = failure(std::move(why));
    return cell;
}

std::string text_in(mcp::call_result const& answer) {
    return std::get<mcp::content::text>(answer.content.front().value).value;
}

std::string text_of_answer(cell_view const& cell, std::size_t most = 5000) {
    return text_in(answer_about(cell, {most}));
}

display picture(std::string bytes) {
    display shown;
    shown.data.add({"image/png", display::mime_bundle::encoding::bytes, std::move(bytes)});
    shown.data.add({"text/plain", display::mime_bundle::encoding::text, "<Figure>"});
    return shown;
}

TEST_CASE("cell_answer: output as it was printed, without white space behind it") {
    CHECK(text_of_answer(cell_that_printed("")) == "[no output]");
    CHECK(answer_about(cell_that_printed(""), {}).structured_content->value()["output"] == "");
    CHECK(text_of_answer(cell_that_printed("  a b\n 1 2\n\n")) == "  a b\n 1 2");
    auto const answer = answer_about(cell_that_printed("x"), {});
    CHECK_FALSE(answer.is_error);
    auto const value = answer.structured_content->value();
    CHECK(value["id"] == "3");
    CHECK(value["status"] == "ok");
    CHECK(value["output"] == "x");
    CHECK(value["to"] == 1);
}

TEST_CASE("cell_answer: the middle that is left out can be read") {
    auto cell = cell_that_printed("abcdefghij");
    cell.output.from = 100;
    CHECK(text_of_answer(cell, 4) ==
          "ab\n\n[6 characters are left out here; cell_output(id=\"3\", from=102) reads on from there]\n\nij");
    cell.output.spill_file = "/work/output/1.txt";
    CHECK(contains(text_of_answer(cell, 4), "and all of it is in /work/output/1.txt]"));
}

TEST_CASE("cell_answer: output that is read piece by piece ends where the next piece begins") {
    auto cell = cell_that_printed("äbcd \n");
    cell.output.from = 100;
    cell.output.to = 107;
    auto answer = answer_about(cell, {2, answer_bounds::part::beginning});
    CHECK(contains(text_in(answer), "äb\n\n[4 characters are left out here; cell_output(id=\"3\", from=103)"));
    CHECK(answer.structured_content->value()["to"] == 103);
    answer = answer_about(cell, {6, answer_bounds::part::beginning});
    CHECK(text_in(answer) == "äbcd \n");
    CHECK(answer.structured_content->value()["to"] == 107);
}

TEST_CASE("cell_answer: output that is read piece by piece goes past what is in a file alone") {
    auto cell = cell_that_printed("head[gap]tail");
    cell.output.from = 1000;
    cell.output.to = cell.output.end = 1'001'008;
    cell.output.left_out = 1'000'000;
    cell.output.gap_begin = 4;
    cell.output.gap_end = 9;
    cell.output.behind_gap = 1'001'004;
    auto const read = [&](std::size_t most) {
        auto const answer = answer_about(cell, {most, answer_bounds::part::beginning});
        return std::pair(text_in(answer), answer.structured_content->value()["to"].get<std::uint64_t>());
    };
    CHECK(read(3).second == 1003);
    CHECK(read(4).second == 1004);
    for (std::size_t const most : {5, 8, 9, 12}) {
        auto const [text, to] = read(most);
        CHECK(text.starts_with("head[gap]\n\n[4 characters are left out here; cell_output(id=\"3\", from=1001004)"));
        CHECK(to == 1'001'004);
    }
    CHECK(read(13) == std::pair(std::string("head[gap]tail"), std::uint64_t(1'001'008)));
    cell.output.text = "h[gap]\n"; // the white space at the end is the line's
    cell.output.gap_begin = 1;
    cell.output.gap_end = 7;
    CHECK(text_of_answer(cell, 4) == "h[gap]");
}

TEST_CASE("cell_answer: a fresh kernel is told of, also if its first cell raised an exception") {
    auto const told = "[this is a fresh kernel: the one before had ended, and variables of earlier cells are gone]";
    CHECK(text_of_answer(cell_that_failed(error(errc::python_error, "NameError"), "", true)) == told);
    CHECK(text_of_answer(cell_that_failed(error(errc::python_error, "NameError"))) == "[no output]");
    CHECK_FALSE(contains(text_of_answer(cell_that_failed(error(errc::timed_out, "late"), "", true)), told));
}

TEST_CASE("cell_answer: a traceback has a bound of its own, and both ends") {
    error::python_exception raised{"Error", "", {"begin " + std::string(30'000, 'x') + " end"}};
    auto const cell = cell_that_failed(error(errc::python_error, raised), "printed");
    for (std::size_t const most : {0, 100, 5000}) {
        auto const text = text_of_answer(cell, most);
        CHECK(text.size() < answer_bounds::least_of_traceback + 300);
        CHECK(contains(text, "begin "));
        CHECK(contains(text, "[25010 characters are left out here]"));
        CHECK(text.ends_with(" end"));
    }
    CHECK(text_of_answer(cell, 1'000'000).size() < answer_bounds::most_of_traceback + 300);
}

TEST_CASE("cell_answer: an exception is below what was printed before it") {
    error::python_exception const raised{"ValueError", "no", {"Traceback", "ValueError: no"}};
    auto const cell = cell_that_failed(error(errc::python_error, raised), "before\n");
    CHECK(text_of_answer(cell) == "before\n\nTraceback\nValueError: no");
    CHECK(answer_about(cell, {}).is_error);
    CHECK(status_of(cell) == "error");
}

TEST_CASE("cell_answer: how a cell was ended, and whether its variables are there") {
    auto cell = cell_that_failed(error(errc::timed_out, "longer than 2 s"), "x");
    CHECK(status_of(cell) == "timed_out");
    CHECK(
        contains(text_of_answer(cell), "x\n\n[the cell was interrupted: longer than 2 s; variables are still there]"));
    cell = cell_that_failed(error(errc::timed_out, "longer than 2 s"), "x", true);
    CHECK(contains(text_of_answer(cell), "all variables are gone]"));
    cell = cell_that_failed(error(errc::cancelled, ""));
    CHECK(status_of(cell) == "cancelled");
    CHECK(text_of_answer(cell) == "[the cell was cancelled; variables are still there]");
    cell = cell_that_failed(error(errc::cancelled, ""), "x", true);
    CHECK(text_of_answer(cell) == "x\n\n[the cell was cancelled; the kernel was replaced, and all variables are gone]");
    cell.outcome = failure(errc::cancelled);
    CHECK(text_of_answer(cell) == "x\n\n[the cell was cancelled before it began]");
    cell = cell_that_failed(error(errc::kernel_died, "it was killed"));
    CHECK(status_of(cell) == "kernel_died");
    CHECK(text_of_answer(cell) == "[it was killed]");
}

TEST_CASE("cell_answer: a cell that runs, and what it waits for") {
    auto cell = cell_that_printed("so far");
    cell.state = detail::job_state::running;
    cell.outcome.reset();
    cell.age = std::chrono::seconds(7);
    CHECK(status_of(cell) == "running");
    CHECK(contains(text_of_answer(cell), "so far\n\n[cell \"3\" is still running after 7 s. wait_for_cell(id=\"3\")"));
    cell.session = "a";
    CHECK(contains(text_of_answer(cell), "wait_for_cell(id=\"3\", session=\"a\") waits for its end, "
                                         "interrupt_cell(id=\"3\", session=\"a\") stops it"));
    cell.waits_for = {"tool call fs.read"};
    CHECK(contains(text_of_answer(cell), "it waits for the user's approval: tool call fs.read"));
    cell.state = detail::job_state::waiting;
    CHECK(status_of(cell) == "waiting");
    CHECK_FALSE(answer_about(cell, {}).is_error);
    cell.waits_for.assign(1000, "tool call a.b");
    CHECK(contains(text_of_answer(cell), "tool call a.b, tool call a.b and 995 more"));
}

TEST_CASE("cell_answer: images are links and content, in one of their forms") {
    auto cell = cell_that_printed("");
    (*cell.outcome)->displays = {picture("png")};
    (*cell.outcome)->images = {"/work/images/plot.png"};
    auto const answer = answer_about(cell, {});
    CHECK(text_in(answer) == "\n\nGenerated images:\n\n- [plot](/work/images/plot.png)\n");
    REQUIRE(answer.content.size() == 2);
    auto const& image = std::get<mcp::content::image>(answer.content.back().value);
    CHECK(image.mime_type == "image/png");
    CHECK(image.base64 == base64_encode("png"));
    CHECK(answer.structured_content->value()["images"] == nlohmann::ordered_json::array({"/work/images/plot.png"}));
}

TEST_CASE("cell_answer: images at the bound are content, one beyond it is a link alone") {
    auto cell = cell_that_printed("");
    auto const bytes = answer_bounds::most_image_bytes / 4 * 3;
    (*cell.outcome)->displays = {picture(std::string(bytes, 'x'))};
    CHECK(answer_about(cell, {}).content.size() == 1);
    (*cell.outcome)->displays = {picture(std::string(bytes + 1, 'x')), picture("small")};
    auto const answer = answer_about(cell, {});
    REQUIRE(answer.content.size() == 1);
    CHECK(std::get<mcp::content::image>(answer.content.back().value).base64 == base64_encode("small"));
}

TEST_CASE("cell_answer: so many images, and one more") {
    auto cell = cell_that_printed("");
    auto const most = answer_bounds::most_images;
    (*cell.outcome)->displays.assign(most, picture("png"));
    (*cell.outcome)->images.assign(most, "/work/images/plot.png");
    CHECK(answer_about(cell, {}).content.size() == 1 + most);
    CHECK_FALSE(contains(text_of_answer(cell), "more images"));
    (*cell.outcome)->displays.push_back(picture("png"));
    (*cell.outcome)->images.push_back("/work/images/plot.png");
    auto const answer = answer_about(cell, {});
    CHECK(answer.content.size() == 1 + most);
    CHECK(answer.structured_content->value()["images"].size() == most);
    CHECK(contains(text_in(answer), "[1 more images are in /work/images]"));
}

TEST_CASE("cell_answer: text has a bound whatever is asked for") {
    auto const most = answer_bounds::most_characters;
    CHECK(text_of_answer(cell_that_printed(std::string(most, 'x')), most + 1).size() == most);
    auto const text = text_of_answer(cell_that_printed(std::string(most + 1, 'x')), most + 1);
    CHECK(contains(text, "[1 characters are left out here"));
}

TEST_CASE("cell_answer: the largest answer is shorter than what clients drop") {
    error::python_exception raised{"Error", "", {std::string(1 << 20, '\x01')}};
    auto cell = cell_that_printed(std::string(answer_bounds::most_characters, '\x01'));
    execution_result brought;
    brought.displays = {picture(std::string(answer_bounds::most_image_bytes / 4 * 3, 'x'))};
    brought.images.assign(1000, "/" + std::string(4000, 'x'));
    cell.notes.assign(3, std::string(1 << 20, '\x01'));
    auto why = error(errc::python_error, raised);
    why.with_output(std::make_shared<execution_result const>(std::move(brought)));
    cell.outcome = failure(std::move(why));
    auto const answer = answer_about(cell, {answer_bounds::most_characters});
    std::size_t size = nlohmann::json(text_in(answer)).dump().size() + answer.structured_content->text().size();
    size += std::get<mcp::content::image>(answer.content.back().value).base64.size();
    CHECK(size < (std::size_t(8) << 20) - (std::size_t(64) << 10));
}

TEST_CASE("cell_answer: what is no UTF-8 is sent all the same") {
    auto const answer = answer_about(cell_that_printed("a\xff"), {});
    REQUIRE(answer.structured_content);
    CHECK(answer.structured_content->value()["output"] == "a\xef\xbf\xbd");
}

} // namespace
