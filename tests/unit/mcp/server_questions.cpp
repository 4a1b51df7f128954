#include <ipybox/mcp/server_questions.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using server_clock = std::chrono::steady_clock;
using ipybox::mcp::server_questions;

server_clock::time_point after(server_clock::duration time) { return server_clock::time_point() + time; }

/// Two questions of call 1, and one of call 2 between them.
struct open_questions {
    server_questions questions{3};
    std::string first = questions.add(questions.next_id(), 1, R"({"message":"a"})", after(3s));
    std::string other = questions.add(questions.next_id(), 2, R"({"message":"b"})", after(1s));
    std::string second = questions.add(questions.next_id(), 1, R"({"message":"c"})", after(2s));

    /// How many of the answers to call 1 are taken, or the refusal.
    [[nodiscard]] std::string taken(nlohmann::json const& responses) const {
        auto const read = questions.read_responses(1, responses.dump());
        return read ? std::to_string(read->size()) : read.error().message;
    }
};

nlohmann::json const declined{{"action", "decline"}};

} // namespace

TEST_CASE_METHOD(open_questions, "server_questions: so many are open at one time") {
    CHECK_FALSE(questions.has_room());
    REQUIRE(questions.take(2));
    CHECK(questions.has_room());
    CHECK(questions.size() == 2);
    CHECK_FALSE(questions.take(2));  // it was answered
    CHECK(questions.next_id() == 4); // numbers are not used again
}

TEST_CASE_METHOD(open_questions, "server_questions: those of a call") {
    CHECK(questions.of(1) == std::vector<ipybox::mcp::server_question_id>{1, 3});
    CHECK(questions.has_of(2));
    CHECK(questions.take(2)->params == R"({"message":"b"})");
    CHECK_FALSE(questions.has_of(2));
    CHECK(questions.find(2) == nullptr);
    REQUIRE(questions.find(3));
    CHECK(questions.find(3)->call == 1);
    auto const asked = nlohmann::json::parse(questions.input_requests(1));
    REQUIRE(asked.size() == 2);
    CHECK(asked[first] == nlohmann::json{{"method", "elicitation/create"}, {"params", {{"message", "a"}}}});
    CHECK(asked.contains(second));
}

TEST_CASE_METHOD(open_questions, "server_questions: their time") {
    CHECK(questions.deadline() == after(1s));
    CHECK(questions.late(after(1s) - 1ns).empty());
    CHECK(questions.late(after(2s)) == std::vector<ipybox::mcp::server_question_id>{2, 3});
    CHECK(server_questions(1).deadline() == server_clock::time_point::max());
}

TEST_CASE_METHOD(open_questions, "server_questions: the id of a request is a string") {
    CHECK(questions.asked_as("\"" + other) == 2u);
    CHECK_FALSE(questions.asked_as(other));
    CHECK_FALSE(questions.asked_as("2"));
}

TEST_CASE_METHOD(open_questions, "server_questions: answers to other questions are not looked at") {
    CHECK(taken(nullptr) == "0");
    CHECK(taken({{first, declined}, {second, declined}}) == "2");
    CHECK(taken({{first, declined}, {other, "anything"}, {"unknown", 1}}) == "1");
    CHECK(taken({{first, "anything"}}) == "the answer to " + first + " in `inputResponses` is not one of elicitation");
    CHECK(taken(nlohmann::json::array()) == "`inputResponses` has to be an object");
}
