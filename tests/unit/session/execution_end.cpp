#include <ipybox/session/execution.hpp>
#include <ipybox/session/execution_end.hpp>
#include <ipybox/session/value_request.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <memory>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using ipybox::errc;
using ipybox::error;
using ipybox::execution_result;
using ipybox::detail::execution_end;
using ipybox::detail::execution_over;
using ipybox::detail::outcome_of;
using ipybox::detail::value_answer;

/// An execution that ends with the text "out", in all the ways that a test gives it.
struct ending_execution {
    ipybox::detail::execution asked;
    execution_end end;

    [[nodiscard]] ipybox::result<execution_result> outcome() const {
        execution_result output;
        output.text = "out";
        return outcome_of(end, asked, output);
    }

    /// Its error; the output goes along with each.
    [[nodiscard]] error failed() const {
        auto const came = outcome();
        REQUIRE(!came);
        REQUIRE(came.error().output());
        CHECK(came.error().output()->text == "out");
        return came.error();
    }

    void raised(std::string ename) {
        end.over.emplace().exception = ipybox::error::python_exception{std::move(ename), "", {}};
    }
};

} // namespace

TEST_CASE_METHOD(ending_execution, "execution_end: with the reply it has succeeded") {
    end.over.emplace().exit_code = 3;
    auto const came = outcome();
    REQUIRE(came);
    CHECK(came->text == "out");
    CHECK(came->exit_code == 3);
    CHECK(came->value_missing.empty()); // none was asked for
}

TEST_CASE_METHOD(ending_execution, "execution_end: a death counts unless the reply came before") {
    end.death = error(errc::kernel_died, "signal 9");
    CHECK(failed() == errc::kernel_died);
    end.over.emplace();
    CHECK(outcome());
}

TEST_CASE_METHOD(ending_execution, "execution_end: the reason why it was ended goes first") {
    asked.options.timeout = 50ms;
    end.stopped = errc::timed_out;
    raised("KeyboardInterrupt");
    CHECK(failed() == errc::timed_out);
    CHECK(failed().text() == "the code did not end within 50 ms");
    REQUIRE(failed().exception());
    CHECK(failed().exception()->ename == "KeyboardInterrupt"); // where the code was

    end.killed = true;
    CHECK(ipybox::test::contains(failed().text(), "its kernel was replaced by a fresh one"));
    end.not_replaced = "no room";
    CHECK(ipybox::test::contains(failed().text(), "its kernel was killed; there is no fresh one: no room"));

    asked.unwanted = ipybox::detail::execution::ending{errc::not_running, true};
    CHECK(failed() == errc::not_running);
}

TEST_CASE_METHOD(ending_execution, "execution_end: code that was not sent, an exception, a full disk") {
    end.output_failure = error(errc::io_error, "full");
    end.over.emplace();
    CHECK(failed() == errc::io_error);
    raised("ValueError");
    CHECK(failed() == errc::python_error);
    end.unsent = error(errc::message_too_large, "");
    CHECK(failed() == errc::message_too_large);
}

TEST_CASE_METHOD(ending_execution, "execution_end: a value beside code may be missing") {
    asked.options.want_value = true;
    end.over.emplace();
    CHECK(outcome()->value_missing == ipybox::detail::no_answer);
    end.over->value = std::make_shared<value_answer>();
    end.over->value->missing = "not JSON";
    CHECK(outcome()->value_missing == "not JSON");
    raised("ValueError");
    CHECK(failed().output()->value_missing.empty()); // there was no value to be had
}

TEST_CASE_METHOD(ending_execution, "execution_end: a value alone must be there") {
    asked.of_value = true;
    end.over.emplace();
    CHECK(failed() == errc::ipykernel_unsupported);
    end.over->value = std::make_shared<value_answer>();
    end.over->value->missing = "not JSON";
    CHECK(failed() == errc::invalid_argument);
    CHECK(failed().text() == "not JSON");
    end.over->value->exception = ipybox::error::python_exception{"NameError", "", {}};
    CHECK(failed() == errc::python_error);
}

TEST_CASE_METHOD(ending_execution, "execution_end: a kernel that does not end by itself") {
    end.over.emplace().leaving = true;
    end.lingers = true;
    end.end_grace = 70ms;
    CHECK(outcome()); // the code did end
    CHECK(ipybox::test::contains(lingering_text(end), "exit()"));
    asked.finishes = true;
    CHECK(failed() == errc::timed_out);
    CHECK(ipybox::test::contains(failed().text(), "within 70 ms"));
    end.over->leaving = false;
    CHECK(ipybox::test::contains(lingering_text(end), "did not read"));
}
