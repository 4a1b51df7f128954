#include <ipybox/session/value_request.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using nlohmann::json;
using nlohmann::ordered_json;

json with(char const* name, json const& value) {
    json object;
    object[name] = value;
    return object;
}

/// The content of a reply whose expression was evaluated to this text.
json answers(std::string const& text) {
    return {{"status", "ok"},
            {"user_expressions",
             {{"ipybox_value", {{"status", "ok"}, {"data", {{"text/plain", text}}}, {"metadata", json::object()}}}}}};
}

detail::value_answer taken(json content) {
    auto const answer = detail::take_value(content);
    REQUIRE(answer);
    return *answer;
}

jupyter::message reply_of(json content) {
    return {jupyter::message::channel::shell, "execute_reply", std::move(content)};
}

std::string so_often(std::string const& part, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += part;
    return all;
}

} // namespace

TEST_CASE("value: text and value of an answer") {
    auto const big = taken(answers(R"=(={"z": [1, 2.50, "ä"], "a": 123456789012345678901234567890})="));
    REQUIRE(big.value);
    CHECK(big.missing.empty());
    CHECK(big.value.text() == R"({"z":[1,2.50,"ä"],"a":123456789012345678901234567890})");
    CHECK(big.value->begin().key() == "z");
    CHECK(big.value->at("z")[1] == 2.5);
    CHECK((*big.value)["a"].is_number_float());
    auto const copy = big.value;
    CHECK(copy.get() == big.value.get());

    CHECK(*taken(answers("=null")).value == nullptr);
    CHECK_FALSE(json_value());
    CHECK(json_value().get() == nullptr);
    CHECK(json_value().text().empty());
}

TEST_CASE("value: why there is none") {
    CHECK(taken(answers("!not JSON: a value of type set")).missing == "not JSON: a value of type set");
    CHECK(taken(answers("!two\nlines\x1b[31m, red")).missing == "two lines, red");
    CHECK(taken(answers("!" + std::string(100'000, 'x'))).missing.size() == 500);
    auto const raised = taken({{"user_expressions",
                                {{"ipybox_value",
                                  {{"status", "error"},
                                   {"ename", "NameError"},
                                   {"evalue", "name 'x' is not defined"},
                                   {"traceback", {"NameError: \x1b[1mname"}}}}}}});
    CHECK(raised.missing == "NameError: name 'x' is not defined");
    REQUIRE(raised.exception);
    CHECK(raised.exception->ename == "NameError");
    CHECK(raised.exception->traceback == std::vector<std::string>{"NameError: name"});
}

TEST_CASE("value: what hostile kernels answer") {
    for (auto const* const text : {"", "x", "'=1'"}) CHECK(contains(taken(answers(text)).missing, "in its own way"));
    for (auto const* const text :
         {"=", "=nul", "=[1,]", "=NaN", "=[Infinity]", "=1 2", "=1e999", "={\"a\":1,\"a\":2}", "='a'"}) {
        CAPTURE(text);
        auto const answer = taken(answers(text));
        CHECK_FALSE(answer.value);
        CHECK(answer.missing.starts_with("not JSON: it "));
    }
    auto const content = [](json const& of_value) { return with("user_expressions", with("ipybox_value", of_value)); };
    CHECK_FALSE(taken(content(with("status", "ok"))).missing.empty());
    CHECK_FALSE(taken(content(with("data", 1))).missing.empty());
    CHECK_FALSE(taken(content(with("data", with("text/plain", 1)))).missing.empty());
    CHECK_FALSE(taken(content({{"status", "error"}, {"ename", 5}})).missing.empty());
    for (json other :
         {json::object(), with("user_expressions", 1), with("user_expressions", json::array({1})),
          with("user_expressions", with("other", 1)), content(1), content(nullptr), content(json::array())})
        CHECK_FALSE(detail::take_value(other));
}

TEST_CASE("value: at its bounds, and one more") {
    std::string const longest = '"' + std::string(detail::longest_value - 2, 'x') + '"';
    CHECK(taken(answers("=" + longest)).value.text() == longest);
    CHECK(taken(answers("=" + longest + " ")).missing == "larger than 1 MiB as JSON");
    auto const list = [](std::size_t values) { return "[0" + so_often(",0", values - 2) + "]"; };
    CHECK(taken(answers("=" + list(detail::most_values))).value->size() == detail::most_values - 1);
    CHECK(taken(answers("=" + list(detail::most_values + 1))).missing == "more than 100000 values as JSON");
    CHECK(taken(answers("=" + so_often("[", 500) + so_often("]", 500))).value);
    CHECK(contains(taken(answers("=" + so_often("[", 501) + so_often("]", 501))).missing, "nested too deeply"));
    CHECK(taken(answers("=" + std::string(4000, '1'))).value.text().size() == 4000);
    CHECK(contains(taken(answers("=" + std::string(4001, '1'))).missing, "4000 characters"));
}

TEST_CASE("value: names of variables") {
    for (auto const* const name : {"x", "_", "_1", "Ab_9", "match"}) CHECK(detail::get_expression(name));
    std::string const too_long(1001, 'x');
    for (std::string const& name :
         std::vector<std::string>{"", "1x", "a b", "a.b", "ä", "x\n", "if", "None", "a)", "\"", too_long}) {
        CAPTURE(name);
        auto const refused = detail::get_expression(name);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
        CHECK(contains(refused.error().text(), "cannot be the name of a variable"));
        CHECK_FALSE(detail::put_expression(name, "1"));
    }
    CHECK(detail::get_expression(std::string(1000, 'x')));
}

TEST_CASE("value: what can be put") {
    CHECK(*detail::text_of(ordered_json{{"z", 1}, {"a", {true, nullptr, "ä"}}}) == R"({"z":1,"a":[true,null,"ä"]})");
    CHECK(*detail::text_of(json{{"z", 1}, {"a", 2}}) == R"({"a":2,"z":1})");
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    CHECK(detail::text_of(json{1, {{"a", infinity}}}).error() == errc::invalid_argument);
    CHECK(contains(detail::text_of(json(-infinity)).error().text(), "not finite"));
    CHECK(contains(detail::text_of(json("\xff")).error().text(), "not UTF-8"));
    json deep = 1;
    for (int i = 0; i < 501; ++i) deep = json::array({std::move(deep)});
    CHECK(contains(detail::text_of(deep).error().text(), "nested too deeply"));
    std::string const longest = '"' + std::string(detail::longest_value - 2, 'x') + '"';
    CHECK(detail::put_expression("x", longest));
    CHECK(detail::put_expression("x", longest + " ").error() == errc::invalid_argument);
}

TEST_CASE_METHOD(scripted_box, "value: of the last expression") {
    script().expect("1").prints("one").sends(reply_of(answers("=1")));
    script().expect("2").sends(reply_of(answers("!not JSON")));
    script().expect("3").replies();
    script().expect("4").raises("ValueError", "no");
    script().expect("5").sends(reply_of(answers("=5")));
    execute_options const wanted{.want_value = true};
    auto const one = (*this)->execute("1", wanted);
    REQUIRE(one);
    CHECK(*one->value == 1);
    CHECK(one->value_missing.empty());
    CHECK(one->text == "one");
    auto const two = (*this)->execute("2", wanted);
    CHECK_FALSE(two->value);
    CHECK(two->value_missing == "not JSON");
    CHECK((*this)->execute("3", wanted)->value_missing == detail::no_answer);
    auto const four = (*this)->execute("4", wanted);
    CHECK(four.error().output()->value_missing.empty());
    auto const unwanted = (*this)->execute("5");
    CHECK_FALSE(unwanted->value);
    CHECK(unwanted->value_missing.empty());
}

TEST_CASE_METHOD(scripted_box, "value: of a job") {
    script().expect("1").sends(reply_of(answers("={\"a\":[1]}")));
    auto const one = (*this)->submit("1", {.want_value = true});
    REQUIRE(one.wait(30s));
    CHECK(one.result()->value->at("a") == ordered_json::array({1}));
}

TEST_CASE_METHOD(scripted_box, "value: got and put") {
    auto const failing = [](std::string const& ename) {
        return json{
            {"status", "ok"},
            {"user_expressions", {{"ipybox_value", {{"status", "error"}, {"ename", ename}, {"evalue", "no"}}}}}};
    };
    script().expect("").sends(reply_of(answers("=[1,2]")));
    script().expect("").sends(reply_of(failing("NameError")));
    script().expect("").sends(reply_of(answers("!larger")));
    script().expect("").replies();
    script().expect("").sends(reply_of(answers("=null")));
    script().expect("").sends(reply_of(failing("MemoryError")));
    auto const x = (*this)->get("x");
    REQUIRE(x);
    CHECK(**x == ordered_json::array({1, 2}));
    auto const none = (*this)->get("x");
    CHECK(none.error() == errc::python_error);
    CHECK(none.error().exception()->ename == "NameError");
    auto const large = (*this)->get("x");
    CHECK(large.error() == errc::invalid_argument);
    CHECK(large.error().text() == "larger");
    CHECK((*this)->get("x").error() == errc::ipykernel_unsupported);
    CHECK((*this)->put("x", {{"a", 1}, {"b", {1, 2}}}));
    CHECK((*this)->put("x", json{1, 2}).error().exception()->ename == "MemoryError");
    // Of these the kernel hears nothing.
    CHECK((*this)->get("1").error() == errc::invalid_argument);
    CHECK((*this)->put("if", 1).error() == errc::invalid_argument);
    CHECK((*this)->put("x", std::numeric_limits<double>::quiet_NaN()).error() == errc::invalid_argument);
}

TEST_CASE_METHOD(scripted_box, "value: waits its turn, is cancelled, and leaves output to the next execution") {
    script().expect("a").waits_for_interrupt().prints("a").replies();
    script().expect("").prints("of a thread").shows({{"text/plain", "plot"}}).sends(reply_of(answers("=1")));
    script().expect("b").prints("b").replies();
    auto a = begin("a");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    auto x = (*this)->async_get("x", asio::use_future);
    asio::cancellation_signal signal;
    std::promise<result<void>> outcome;
    (*this)->async_put("y", 1,
                       asio::bind_cancellation_slot(signal.slot(), [&](result<void> r) { outcome.set_value(r); }));
    signal.emit(asio::cancellation_type::terminal);
    CHECK(got(outcome.get_future()).error() == condition::cancelled);
    CHECK(x.wait_for(20ms) == std::future_status::timeout);
    REQUIRE((*this)->interrupt());
    CHECK(said(got(std::move(a))) == "a");
    CHECK(**got(std::move(x)) == 1);
    auto const b = (*this)->execute("b");
    CHECK(b->text == "of a thread\nplot\nb");
    CHECK(b->displays.size() == 1);
}

TEST_CASE_METHOD(scripted_box, "value: of a kernel that is fresh leaves saying so to the next result") {
    adapt([](executor_options& o) { o.kernel.restart_dead = true; });
    script().expect("a").dies({1, {}});
    script().expect("").sends(reply_of(answers("=null")));
    script().expect("b").replies();
    script().expect("c").replies();
    CHECK((*this)->execute("a").error() == errc::kernel_died);
    CHECK((*this)->put("x", 1));
    CHECK((*this)->execute("b")->kernel_restarted);
    CHECK_FALSE((*this)->execute("c")->kernel_restarted);
}

TEST_CASE_METHOD(scripted_box, "value: from eight threads", "[tsan]") {
    for (int i = 0; i < 160; ++i) script().expect("").sends(reply_of(answers("=[1,2,3]")));
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                auto const x = (*this)->get("x");
                auto const copy = x;
                if (copy && (*copy)->size() == 3) ++good;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(good == 160);
}
