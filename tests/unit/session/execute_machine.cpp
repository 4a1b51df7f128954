#include <ipybox/session/execute_machine.hpp>

#include <support/catch.hpp>

#include <string>
#include <utility>
#include <variant>

namespace {

using namespace ipybox;
using namespace ipybox::detail;
using json = nlohmann::json;
using jupyter::message;
using ch = jupyter::message::channel;

message of(ch on, std::string type, json content, std::string parent = "r") {
    message m(on, std::move(type), std::move(content));
    m.parent_id = std::move(parent);
    return m;
}

message reply(json content = {{"status", "ok"}}, std::string parent = "r") {
    return of(ch::shell, "execute_reply", std::move(content), std::move(parent));
}
message status(std::string state, std::string parent = "r") {
    return of(ch::iopub, "status", {{"execution_state", std::move(state)}}, std::move(parent));
}
message stream(std::string text, std::string parent = "r", std::string name = "stdout") {
    return of(ch::iopub, "stream", {{"name", std::move(name)}, {"text", std::move(text)}}, std::move(parent));
}

json exception(std::string ename, std::string evalue, json traceback = json::array()) {
    return {{"status", "error"},
            {"ename", std::move(ename)},
            {"evalue", std::move(evalue)},
            {"traceback", std::move(traceback)}};
}

execute_machine ordered() { return {"r", completion_rule::reply}; }
execute_machine independent() { return {"r", completion_rule::reply_and_idle}; }

bool nothing(execute_step const& s) { return std::holds_alternative<nothing_new>(s); }
bool over(execute_step const& s) { return std::holds_alternative<execution_over>(s); }

template <class T>
T get(execute_step s) {
    REQUIRE(std::holds_alternative<T>(s));
    return std::get<T>(std::move(s));
}

error::python_exception exception_of(execute_step s) {
    auto end = get<execution_over>(std::move(s));
    REQUIRE(end.exception);
    return *end.exception;
}

} // namespace

TEST_CASE("execute_machine: with one order the reply is the end") {
    auto m = ordered();
    CHECK(nothing(m.step(status("busy"))));
    CHECK(nothing(m.step(of(ch::iopub, "execute_input", {{"code", "x"}}))));
    CHECK(get<output_chunk>(m.step(stream("a"))).text == "a");
    auto const end = get<execution_over>(m.step(reply()));
    CHECK_FALSE(end.exception);
    CHECK(end.pager_text.empty());
    CHECK(nothing(m.step(status("idle"))));
}

TEST_CASE("execute_machine: with independent channels both have to come, in either order") {
    auto first = independent();
    CHECK(nothing(first.step(status("busy"))));
    CHECK(nothing(first.step(reply())));
    CHECK(get<output_chunk>(first.step(stream("behind the reply"))).text == "behind the reply");
    CHECK(over(first.step(status("idle"))));

    auto second = independent();
    CHECK(nothing(second.step(status("idle"))));
    CHECK(over(second.step(reply())));
}

TEST_CASE("execute_machine: the end comes once") {
    auto m = independent();
    CHECK(nothing(m.step(reply())));
    CHECK(over(m.step(status("idle"))));
    CHECK(nothing(m.step(status("idle"))));
}

TEST_CASE("execute_machine: replies, errors and states of other requests do not count") {
    for (auto make : {&ordered, &independent}) {
        auto m = make();
        CHECK(nothing(m.step(reply({{"status", "ok"}}, "earlier"))));
        CHECK(nothing(m.step(reply({{"status", "ok"}}, ""))));
        CHECK(nothing(m.step(status("idle", "earlier"))));
        CHECK(nothing(m.step(of(ch::iopub, "error", exception("E", "of another one", {"x"}), "earlier"))));
        CHECK(nothing(m.step(reply())) == (make == &independent));
        if (make == &independent) CHECK(over(m.step(status("idle"))));
    }
}

TEST_CASE("execute_machine: output counts whoever its parent is") {
    auto m = ordered();
    for (auto const* parent : {"r", "earlier", ""}) {
        CHECK(get<output_chunk>(m.step(stream("x", parent))).text == "x");
        CHECK(get<display>(m.step(of(ch::iopub, "display_data", {{"data", {{"text/plain", "d"}}}}, parent))).kind ==
              display::message_type::display_data);
        CHECK_FALSE(get<clear_wanted>(m.step(of(ch::iopub, "clear_output", json::object(), parent))).wait);
    }
}

TEST_CASE("execute_machine: streams") {
    auto m = ordered();
    CHECK(get<output_chunk>(m.step(stream("a"))).stream == output_chunk::stream_name::stdout_);
    CHECK(get<output_chunk>(m.step(stream("a", "r", "stderr"))).stream == output_chunk::stream_name::stderr_);
    CHECK(get<output_chunk>(m.step(stream("a", "r", "else"))).stream == output_chunk::stream_name::stdout_);
    CHECK(get<output_chunk>(m.step(of(ch::iopub, "stream", {{"name", 5}}))).text.empty());
    auto raw = stream("");
    raw.metadata = {{"raw", json::array({json::array({json::array({"text"}), 0U, "text"})})}};
    raw.buffers = {"from a buffer"};
    CHECK(get<output_chunk>(m.step(std::move(raw))).text == "from a buffer");
}

TEST_CASE("execute_machine: displays") {
    auto m = ordered();
    auto const shown = get<display>(m.step(of(ch::iopub, "display_data",
                                              {{"data", {{"text/plain", "p"}}},
                                               {"metadata", {{"image/png", {{"width", 5}}}}},
                                               {"transient", {{"display_id", "d1"}}}})));
    CHECK(shown.kind == display::message_type::display_data);
    CHECK(*shown.data.find("text/plain") == "p");
    CHECK(shown.metadata == R"({"image/png":{"width":5}})");
    CHECK(shown.id == "d1");
    CHECK(get<display>(m.step(of(ch::iopub, "execute_result", {{"data", json::object()}}))).kind ==
          display::message_type::execute_result);
    CHECK(get<display>(m.step(of(ch::iopub, "update_display_data", {{"data", json::object()}}))).kind ==
          display::message_type::update_display_data);

    auto const bare = get<display>(m.step(of(ch::iopub, "display_data", {{"metadata", 5}, {"transient", "x"}})));
    CHECK(bare.data.empty());
    CHECK(bare.metadata == "{}");
    CHECK(bare.id.empty());
    CHECK(get<display>(m.step(of(ch::iopub, "display_data", {{"transient", {{"display_id", 7}}}}))).id.empty());
}

TEST_CASE("execute_machine: an endless display_id is none") {
    auto m = ordered();
    auto const id_of = [&m](std::string id) {
        return get<display>(m.step(of(ch::iopub, "display_data",
                                      {{"data", json::object()}, {"transient", {{"display_id", std::move(id)}}}})))
            .id;
    };
    CHECK(id_of(std::string(1024, 'x')).size() == 1024);
    CHECK(id_of(std::string(1025, 'x')).empty());
}

TEST_CASE("execute_machine: clearing") {
    auto m = ordered();
    CHECK(get<clear_wanted>(m.step(of(ch::iopub, "clear_output", {{"wait", true}}))).wait);
    CHECK_FALSE(get<clear_wanted>(m.step(of(ch::iopub, "clear_output", {{"wait", "yes"}}))).wait);
}

TEST_CASE("execute_machine: questions") {
    auto m = ordered();
    auto question = of(ch::stdin_, "input_request", {{"prompt", "? "}, {"password", true}});
    question.parent_header = {{"msg_id", "q"}};
    auto const wanted = get<input_wanted>(m.step(std::move(question)));
    CHECK(wanted.prompt == "? ");
    CHECK(wanted.password);
    CHECK(wanted.request_header["msg_id"] == "q");
    auto const bare = get<input_wanted>(m.step(of(ch::stdin_, "input_request", {{"password", 1}})));
    CHECK(bare.prompt.empty());
    CHECK_FALSE(bare.password);
}

TEST_CASE("execute_machine: an exception in the reply") {
    auto m = ordered();
    auto const e =
        exception_of(m.step(reply(exception("ValueError", "no", {"\x1b[31mValueError\x1b[0m: no", 5, "end"}))));
    CHECK(e.ename == "ValueError");
    CHECK(e.evalue == "no");
    CHECK(e.traceback == std::vector<std::string>{"ValueError: no", "end"});
}

TEST_CASE("execute_machine: an exception whose traceback came on iopub") {
    auto const shown = of(ch::iopub, "error", exception("ValueError", "no", {"frame", "ValueError: no"}));
    auto before = ordered();
    CHECK(nothing(before.step(shown)));
    CHECK(exception_of(before.step(reply(exception("ValueError", "no")))).traceback.size() == 2);

    auto behind = independent();
    CHECK(nothing(behind.step(reply(exception("ValueError", "no")))));
    CHECK(nothing(behind.step(shown)));
    CHECK(exception_of(behind.step(status("idle"))).traceback.size() == 2);

    auto both = ordered(); // the reply's own one counts
    CHECK(nothing(both.step(shown)));
    CHECK(exception_of(both.step(reply(exception("ValueError", "no", {"its own"})))).traceback ==
          std::vector<std::string>{"its own"});
}

TEST_CASE("execute_machine: an exception without a traceback anywhere") {
    auto m = ordered();
    CHECK(nothing(m.step(of(ch::iopub, "error", exception("SyntaxError", "shown")))));
    auto const e = exception_of(m.step(reply(exception("SyntaxError", "replied"))));
    CHECK(e.ename == "SyntaxError");
    CHECK_FALSE(e.evalue.empty());

    auto nameless = ordered();
    CHECK(nothing(nameless.step(of(ch::iopub, "error", json::object()))));
    CHECK(exception_of(nameless.step(reply(exception("E", "v")))).ename == "E");
}

TEST_CASE("execute_machine: an error on iopub is none when the reply is ok") {
    auto m = ordered();
    CHECK(nothing(m.step(of(ch::iopub, "error", exception("E", "shown only", {"x"}))))); // %%showtraceback, say
    CHECK_FALSE(get<execution_over>(m.step(reply())).exception);
}

TEST_CASE("execute_machine: a reply that is neither ok nor an exception") {
    auto aborted = ordered();
    CHECK(exception_of(aborted.step(reply({{"status", "aborted"}}))).ename == "aborted");
    auto empty = ordered();
    CHECK(exception_of(empty.step(reply(json::object()))).ename == "Error");
    auto odd = ordered();
    CHECK(exception_of(odd.step(reply({{"status", 5}, {"traceback", "text"}}))).ename == "Error");
}

TEST_CASE("execute_machine: what goes to the pager") {
    auto m = ordered();
    json const page = {{"source", "page"}, {"data", {{"text/plain", "\x1b[1mHelp\x1b[0m"}}}};
    json const more = {{"source", "page"}, {"data", {{"text/plain", " more"}}}};
    json const other = {{"source", "set_next_input"}, {"text", "x"}};
    auto const end = get<execution_over>(
        m.step(reply({{"status", "ok"},
                      {"payload", {other, page, 5, {{"source", "page"}}, {{"source", "page"}, {"data", 5}}, more}}})));
    CHECK(end.pager_text == "Help more");
    auto none = ordered();
    CHECK(get<execution_over>(none.step(reply({{"status", "ok"}, {"payload", "x"}}))).pager_text.empty());
}

TEST_CASE("execute_machine: messages that mean nothing to it") {
    auto m = ordered();
    for (auto const* type :
         {"comm_open", "comm_msg", "execute_input", "shutdown_reply", "debug_event", "no such", "kernel_info_reply"})
        CHECK(nothing(m.step(of(ch::iopub, type, {{"text", "x"}}))));
}

TEST_CASE("execute_machine: what the kernel says of an interrupt") {
    auto m = ordered();
    CHECK(std::holds_alternative<code_told>(m.step(status("interrupted"))));
    CHECK(std::holds_alternative<code_ended>(m.step(status("ending"))));
    CHECK(nothing(m.step(status("interrupted", "another"))));
    CHECK(nothing(m.step(status("ending", "another"))));
    CHECK(over(m.step(reply())));
}
