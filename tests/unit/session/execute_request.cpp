#include <ipybox/session/execute_request.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/value_request.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

using ipybox::detail::execution;
using ipybox::detail::to_execute_request;
using ipybox::jupyter::json;

TEST_CASE("execute_request: code is a cell") {
    execution e;
    e.code = "1 + 1";
    auto const request = to_execute_request(e, "id");
    CHECK(request.id == "id");
    CHECK(request.type == "execute_request");
    CHECK(request.on == ipybox::jupyter::message::channel::shell);
    CHECK(request.content == json{{"code", "1 + 1"},
                                  {"silent", false},
                                  {"store_history", false},
                                  {"user_expressions", json::object()},
                                  {"allow_stdin", false},
                                  {"stop_on_error", false}});
    CHECK(!request.metadata.contains("title"));
}

TEST_CASE("execute_request: a title, a value and input are asked for") {
    execution e;
    e.options.title = "step 1";
    e.options.want_value = true;
    e.options.on_input = [](ipybox::input_request const&) {};
    auto const request = to_execute_request(e, "id");
    CHECK(request.metadata["title"] == "step 1");
    CHECK(request.content["allow_stdin"] == true);
    CHECK(request.content["user_expressions"] ==
          json{{ipybox::detail::value_expression_name, ipybox::detail::last_value_expression()}});
}

TEST_CASE("execute_request: a value alone is no cell") {
    execution e;
    e.of_value = true;
    e.value_expression = "x";
    e.options.on_input = [](ipybox::input_request const&) {};
    auto const content = to_execute_request(e, "id").content;
    CHECK(content["code"] == "");
    CHECK(content["silent"] == true);
    CHECK(content["allow_stdin"] == false);
    CHECK(content["user_expressions"] == json{{ipybox::detail::value_expression_name, "x"}});
}
