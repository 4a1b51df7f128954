#include <ipybox/kernel/impl/supervisor_end.hpp>
#include <ipybox/kernel/impl/supervisor_message.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <csignal>
#include <string>
#include <utility>
#include <variant>

namespace {

using ipybox::errc;
using ipybox::detail::end_of_supervisor;
using ipybox::detail::read_supervisor_message;
using ipybox::detail::supervisor_end;
using ipybox::test::contains;
namespace supervisor_message = ipybox::detail::supervisor_message;

template <class Message>
Message message_in(std::string const& datagram) {
    auto read = read_supervisor_message(datagram);
    REQUIRE(read);
    REQUIRE(std::holds_alternative<Message>(*read));
    return std::get<Message>(*std::move(read));
}

/// The error of a request that was refused.
ipybox::error refusal(std::string const& members) {
    auto const answer = message_in<supervisor_message::answer>(R"({"id": 7, "error": {)" + members + "}}");
    CHECK(answer.id == 7);
    REQUIRE(!answer.outcome);
    return answer.outcome.error();
}

ipybox::error failed_with(std::string const& kind) {
    return message_in<supervisor_message::failed>(R"({"event": "failed", "kind": ")" + kind + R"(", "text": "why"})")
        .why;
}

std::string nested(std::size_t levels) {
    return R"({"id": 1, "deep": )" + std::string(levels, '[') + std::string(levels, ']') + "}";
}

} // namespace

TEST_CASE("supervisor_message: answers to requests") {
    auto const answer = message_in<supervisor_message::answer>(R"({"id": 7, "pid": 12})");
    CHECK(answer.id == 7);
    REQUIRE(answer.outcome);
    CHECK((*answer.outcome)["pid"] == 12);
    CHECK_FALSE(message_in<supervisor_message::answer>(R"({"id": "7"})").id);
    CHECK_FALSE(message_in<supervisor_message::answer>("{}").id);
}

TEST_CASE("supervisor_message: why a request was refused") {
    CHECK(refusal(R"("kind": "cwd", "text": "no such directory")") == errc::invalid_argument);
    CHECK(refusal(R"("kind": "walls")") == errc::sandbox_unavailable);
    CHECK(refusal(R"("kind": "guard")") == errc::guard_unavailable);
    auto const other = refusal(R"("kind": "program", "text": "no such program", "errno": 2)");
    CHECK(other == errc::kernel_start_failed);
    CHECK(other.text() == "no such program");
    CHECK(other.cause() == std::errc::no_such_file_or_directory);
}

TEST_CASE("supervisor_message: events") {
    auto const ready = message_in<supervisor_message::ready>(
        R"({"event": "ready", "executable": "/p", "python": "3", "ipykernel": "6", "ipython": "8", "level": "lean"})");
    CHECK(ready.info.executable == "/p");
    CHECK(ready.info.level == "lean");
    CHECK(failed_with("ipykernel_missing") == errc::ipykernel_missing);
    CHECK(failed_with("unsupported") == errc::ipykernel_unsupported);
    CHECK(failed_with("other") == errc::kernel_start_failed);
    CHECK(failed_with("other").text() == "why");
    (void)message_in<supervisor_message::unknown>(R"({"event": "of tomorrow"})");
}

TEST_CASE("supervisor_message: the end of a process") {
    auto const killed = message_in<supervisor_message::exited>(
        R"({"event": "exit", "pid": 12, "signal": 9, "exceeded": {"limit": "memory", "used": 2, "allowed": 1}})");
    CHECK(killed.pid == 12);
    CHECK(killed.status.signal == 9);
    CHECK_FALSE(killed.status.code);
    CHECK(killed.status.exceeded);
    CHECK(message_in<supervisor_message::exited>(R"({"event": "exit", "pid": 12, "code": 3})").status.code == 3);
    (void)message_in<supervisor_message::unknown>(R"({"event": "exit", "pid": "12"})"); // of no process
}

TEST_CASE("supervisor_message: anything else breaks the protocol") {
    for (auto const* datagram : {"", "no JSON", "[]", "{"}) {
        auto const read = read_supervisor_message(datagram);
        REQUIRE(!read);
        CHECK(read.error() == errc::protocol_error);
    }
    CHECK(read_supervisor_message(nested(supervisor_message::deepest - 1)));
    auto const deeper = read_supervisor_message(nested(supervisor_message::deepest));
    REQUIRE(!deeper);
    CHECK(contains(deeper.error().text(), "nests too deeply"));
}

TEST_CASE("supervisor_end: an error says what ended, and why as far as that is known") {
    supervisor_end end{{1, {}, {}}, false, true, "", "/usr/bin/bwrap", "/usr/bin/python3"};
    CHECK(end_of_supervisor(end) == errc::supervisor_died);
    CHECK_FALSE(contains(end_of_supervisor(end).text(), "it said"));
    end.said = "Killed";
    CHECK(contains(end_of_supervisor(end).text(), "; it said:\nKilled"));

    end.was_ready = false;
    CHECK(end_of_supervisor(end) == errc::kernel_start_failed);
    CHECK(contains(end_of_supervisor(end).text(), "before it was ready"));
    CHECK(end_of_supervisor(end).status().code == 1);
    end.said.clear();
    CHECK(contains(end_of_supervisor(end).text(), "does the sandbox's command /usr/bin/bwrap start"));
    end.goes_on = true;
    CHECK(contains(end_of_supervisor(end).text(), "descriptor was closed before it was ready: does its command, /usr"));
    end.goes_on = false;
    end.said = "usage: " + std::string(400, 'x') + "\nsee the manual";
    CHECK(contains(end_of_supervisor(end).text(),
                   "its command was /usr/bin/bwrap … /usr/bin/python3 …; it said:\nusage"));
    CHECK(contains(end_of_supervisor(end).text(), "x […]\nsee the manual\nDoes this command start a Python"));
    CHECK_FALSE(contains(end_of_supervisor(end).text(), std::string(300, 'x')));
    end.said.clear();
    end.program = end.python;
    CHECK(contains(end_of_supervisor(end).text(), "is /usr/bin/python3 a Python interpreter?"));
    end.said = std::string(ipybox::detail::too_old_begins) + " 3.10";
    CHECK(end_of_supervisor(end) == errc::python_not_found);
}
