#include <ipybox/execution/input_request.hpp>
#include <ipybox/session/input_answers.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace {

using ipybox::detail::input_answers;
namespace occurrence = ipybox::detail::occurrence;

occurrence::input_answered typed(std::string line) {
    return {1, std::make_unique<std::string>(std::move(line)), {{"msg_id", "question"}}};
}

/// The line of a reply; "-" for none.
std::string line_of(std::optional<ipybox::jupyter::message> const& reply) {
    return reply ? reply->content["value"].get<std::string>() : "-";
}

} // namespace

TEST_CASE("input_answers: an answer becomes the reply to its question") {
    input_answers answers;
    auto const reply = answers.answer(typed("yes"));
    REQUIRE(reply);
    CHECK(reply->type == "input_reply");
    CHECK(reply->on == ipybox::jupyter::message::channel::stdin_);
    CHECK(reply->parent_header["msg_id"] == "question");
    CHECK(line_of(reply) == "yes");
}

TEST_CASE("input_answers: a refusal is the end of input") {
    input_answers none;
    CHECK(line_of(none.answer({1, nullptr, {}})) == "\x04");

    input_answers longest;
    CHECK(line_of(longest.answer(typed(std::string(ipybox::input_request::longest_line, 'x')))).size() ==
          ipybox::input_request::longest_line);
    input_answers longer;
    CHECK(line_of(longer.answer(typed(std::string(ipybox::input_request::longest_line + 1, 'x')))) == "\x04");
}

TEST_CASE("input_answers: one is on its way, and the newest of the others waits") {
    input_answers answers;
    CHECK(line_of(answers.answer(typed("a"))) == "a");
    CHECK(line_of(answers.answer(typed("b"))) == "-");
    CHECK(line_of(answers.answer(typed("c"))) == "-");
    CHECK(line_of(answers.sent()) == "c");
    CHECK(line_of(answers.answer(typed("d"))) == "-");
    CHECK(line_of(answers.sent()) == "d");
    CHECK(line_of(answers.sent()) == "-");
    CHECK(line_of(answers.answer(typed("e"))) == "e");
}

TEST_CASE("input_answers: those that wait when the code has ended are not sent") {
    input_answers answers;
    CHECK(line_of(answers.answer(typed("a"))) == "a");
    CHECK(line_of(answers.answer(typed("b"))) == "-");
    answers.drop_waiting();
    CHECK(line_of(answers.sent()) == "-");
}
