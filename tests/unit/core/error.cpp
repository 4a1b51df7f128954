#include <ipybox/core/result.hpp>
#include <ipybox/execution/execution_result.hpp>

#include <support/catch.hpp>

#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace ipybox;

constexpr int first_code = static_cast<int>(errc::python_error);
constexpr int last_code = static_cast<int>(errc::mcp_unauthorized);

std::string written(error const& e) {
    std::ostringstream out;
    out << e;
    return out.str();
}

} // namespace

TEST_CASE("errc: each has a sentence of its own") {
    std::set<std::string> sentences;
    for (int value = first_code; value <= last_code; ++value) {
        auto const code = make_error_code(static_cast<errc>(value));
        CAPTURE(value, code.message());
        CHECK(code);
        CHECK(code.message().find("unknown") == std::string::npos);
        CHECK(code.message().find(' ') != std::string::npos);
        CHECK(sentences.insert(code.message()).second);
    }
    CHECK(make_error_code(static_cast<errc>(last_code + 1)).message() ==
          "unknown ipybox error"); // the list above is whole
    CHECK(detail::error_category().message(0) == "unknown ipybox error");
    CHECK(detail::error_category().message(-1) == "unknown ipybox error");
    CHECK(std::string(detail::error_category().name()) == "ipybox");
}

TEST_CASE("condition: each has a sentence of its own") {
    std::set<std::string> sentences;
    for (auto const c : {condition::timeout, condition::cancelled, condition::kernel_lost, condition::cannot_start})
        CHECK(sentences.insert(make_error_condition(c).message()).second);
    CHECK(sentences.count("unknown ipybox condition") == 0);
    CHECK(detail::condition_category().message(0) == "unknown ipybox condition");
    CHECK(std::string(detail::condition_category().name()) == "ipybox.condition");
}

TEST_CASE("errc: each has a name of its own, which is its enumerator's") {
    std::set<std::string_view> names;
    for (int value = first_code; value <= last_code; ++value) {
        auto const name = to_string(static_cast<errc>(value));
        CAPTURE(value, name);
        CHECK(name != "unknown");
        CHECK(names.insert(name).second);
    }
    CHECK(to_string(errc::kernel_died) == "kernel_died");
    CHECK(to_string(errc::mcp_version_unsupported) == "mcp_version_unsupported");
    CHECK(to_string(static_cast<errc>(0)) == "unknown");
    CHECK(to_string(condition::kernel_lost) == "kernel_lost");
    CHECK(to_string(static_cast<condition>(0)) == "unknown");
}

TEST_CASE("error: has the name of its code") {
    CHECK(error(errc::kernel_died, "").name() == "kernel_died");
    CHECK(detail::system_failure("opening", ENOENT).name() == "io_error");
}

TEST_CASE("error: says who rejected an action") {
    auto rejected = error(errc::approval_rejected, "not now");
    CHECK_FALSE(rejected.decided_by());
    rejected.with_decided_by(error::decider::rule);
    auto const copy = rejected;
    CHECK(copy.decided_by() == error::decider::rule);
    CHECK(to_string(*copy.decided_by()) == "rule");
}

TEST_CASE("condition: which codes fall under it") {
    auto const condition_of = [](errc e) -> std::optional<condition> {
        for (auto const c : {condition::timeout, condition::cancelled, condition::kernel_lost, condition::cannot_start})
            if (error(e, "") == c) return c;
        return std::nullopt;
    };
    std::set<errc> grouped;
    auto const check = [&](condition c, std::initializer_list<errc> codes) {
        for (auto const code : codes) {
            CAPTURE(make_error_code(code).message());
            CHECK(condition_of(code) == c);
            CHECK(make_error_code(code) == c);
            grouped.insert(code);
        }
    };
    check(condition::timeout,
          {errc::timed_out, errc::kernel_unresponsive, errc::approval_timed_out, errc::mcp_unresponsive});
    check(condition::cancelled, {errc::cancelled});
    check(condition::kernel_lost, {errc::kernel_died, errc::supervisor_died});
    check(condition::cannot_start,
          {errc::kernel_start_failed, errc::python_not_found, errc::ipykernel_missing, errc::ipykernel_unsupported,
           errc::kernelspec_not_found, errc::sandbox_unavailable, errc::guard_unavailable});
    for (int value = first_code; value <= last_code; ++value) {
        auto const code = static_cast<errc>(value);
        if (!grouped.contains(code)) CHECK(condition_of(code) == std::nullopt);
    }
}

TEST_CASE("error: a text, or the sentence of its code") {
    error const said(errc::invalid_argument, "the option is wrong");
    CHECK(said.code() == errc::invalid_argument);
    CHECK(said == errc::invalid_argument);
    CHECK_FALSE(said == errc::io_error);
    CHECK(said.text() == "the option is wrong");
    CHECK(written(said) == "the option is wrong");
    CHECK(said.exception() == nullptr);
    CHECK(said.output() == nullptr);
    CHECK(said.status() == exit_status{});

    error const silent(errc::not_running, "");
    CHECK(silent.text() == "the executor has been stopped");
    CHECK(written(silent) == silent.text());
}

TEST_CASE("error: of an exception") {
    error const e(errc::python_error,
                  error::python_exception{"ValueError", "no", {"Traceback:", "  line 1", "ValueError: no"}});
    CHECK(e.text() == "ValueError: no");
    CHECK(written(e) == "Traceback:\n  line 1\nValueError: no");
    REQUIRE(e.exception());
    CHECK(e.exception()->ename == "ValueError");
    CHECK(e.exception()->evalue == "no");

    CHECK(error(errc::python_error, error::python_exception{"StopIteration", "", {}}).text() == "StopIteration");
    CHECK(written(error(errc::python_error, error::python_exception{"KeyError", "'a'", {}})) == "KeyError: 'a'");
}

TEST_CASE("error: carries the status and the output, copies share them") {
    auto output = std::make_shared<execution_result>();
    output->text = "printed";
    error e(errc::kernel_died, "gone");
    e.with_status({std::nullopt, 9}).with_output(std::move(output));
    error const copy = e;
    CHECK(copy.status().signal == 9);
    REQUIRE(copy.output());
    CHECK(copy.output() == e.output());
    CHECK(copy.output()->text == "printed");
}

TEST_CASE("error: of the operating system") {
    auto const e = ipybox::detail::system_failure("opening /x", ENOENT);
    CHECK(e == errc::io_error);
    CHECK(e.text() == "opening /x: No such file or directory");
}

TEST_CASE("result: failure makes and passes on") {
    auto const make = []() -> result<int> { return failure(errc::io_error, "disk"); };
    auto const pass = [&]() -> result<std::string> {
        auto r = make();
        return failure(r);
    };
    auto const passed = pass();
    REQUIRE_FALSE(passed);
    CHECK(passed.error() == errc::io_error);
    CHECK(passed.error().text() == "disk");
    result<void> const whole = failure(error(errc::cancelled, ""));
    CHECK(whole.error() == condition::cancelled);
}
