#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scripted_box.hpp>

#include <chrono>
#include <fstream>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

std::string const died = "<the kernel process ended>";

} // namespace

TEST_CASE_METHOD(scripted_box, "session: an execution brings its output") {
    script()
        .expect("cell")
        .prints("one\n")
        .prints("err\n", "stderr")
        .shows({{"text/plain", "2"}}, "execute_result")
        .replies();
    auto const r = (*this)->execute("cell");
    REQUIRE(r);
    CHECK(r->text == "one\nerr\n2");
    REQUIRE(r->displays.size() == 1);
    CHECK(r->displays[0].kind == display::message_type::execute_result);
    CHECK(r->elapsed > 0ns);
    CHECK_FALSE(r->kernel_restarted);
    CHECK((*this)->state() == executor::kernel_state::idle);
}

TEST_CASE_METHOD(scripted_box, "session: a cell that prints blanks, or nothing at all") {
    script().expect("print()").prints("\n").replies();
    script().expect("blank").prints(" \t\n").replies();
    script().expect("pass").replies();
    CHECK(run("print()").empty());
    CHECK(run("blank").empty());
    CHECK(run("pass").empty());
}

TEST_CASE_METHOD(scripted_box, "session: an exception carries the output before it") {
    script().expect("fail").prints("before").raises("ValueError", "no");
    script().expect("next").prints("fine").replies();
    auto const r = (*this)->execute("fail");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::python_error);
    REQUIRE(r.error().exception());
    CHECK(r.error().exception()->ename == "ValueError");
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "before");
    CHECK(run("next") == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: starts by itself, or before") {
    CHECK((*this)->state() == executor::kernel_state::stopped);
    CHECK((*this)->start());
    CHECK((*this)->state() == executor::kernel_state::idle);
    CHECK((*this)->start());
    script().expect("a").replies();
    CHECK(run("a").empty());
    CHECK((*this)->stop());
    CHECK(script().starts() == 1);
}

TEST_CASE_METHOD(scripted_box, "session: calls are executed in their order") {
    std::vector<std::future<result<execution_result>>> calls;
    for (int i = 0; i < 20; ++i) script().expect(std::to_string(i)).prints(std::to_string(i)).replies();
    for (int i = 0; i < 20; ++i) calls.push_back(begin(std::to_string(i)));
    for (std::size_t i = 0; i < 20; ++i) CHECK(said(got(std::move(calls[i]))) == std::to_string(i));
}

TEST_CASE_METHOD(scripted_box, "session: code that runs is interrupted when its time is up") {
    script().expect("loop").prints("partial").waits_for_interrupt().prints(" more").raises("KeyboardInterrupt", "");
    script().expect("next").prints("fine").replies();
    auto const r = (*this)->execute("loop", {.timeout = 20ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::timeout);
    CHECK(r.error().text() == "the code did not end within 20 ms");
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "partial more"); // it was drained
    CHECK_FALSE(r.error().output()->kernel_restarted);
    CHECK(run("next") == "fine");
    CHECK((*this)->stop());
    CHECK(script().interrupts() == 1);
    CHECK(script().starts() == 1);
}

TEST_CASE_METHOD(scripted_box, "session: code that catches the interrupt loses its kernel") {
    adapt([](executor_options& o) { o.kernel.interrupt_grace = 300ms; });
    script()
        .expect("stubborn")
        .prints("partial")
        .waits_for_interrupt()
        .prints("!")
        .waits_for_interrupt()
        .waits_for_interrupt();
    script().expect("next").prints("fine").replies();
    auto const r = (*this)->execute("stubborn", {.timeout = 1ms});
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::timed_out);
    CHECK(contains(r.error().text(), "replaced by a fresh one"));
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "partial!");
    CHECK(r.error().output()->kernel_restarted);
    CHECK(run("next") == "fine");
    CHECK((*this)->stop());
    CHECK(script().interrupts() == 2);
    CHECK(script().starts() == 2);
}

TEST_CASE_METHOD(scripted_box, "session: cancel ends the running call and those that wait") {
    script().expect("loop").prints("partial").waits_for_interrupt().raises("KeyboardInterrupt", "");
    script().expect("later").prints("fine").replies();
    auto running = begin("loop");
    auto waiting = begin("never executed");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    (*this)->cancel();
    auto later = begin("later");
    auto const r = got(std::move(running));
    REQUIRE_FALSE(r);
    CHECK(r.error() == condition::cancelled);
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "partial");
    auto const w = got(std::move(waiting));
    REQUIRE_FALSE(w);
    CHECK(w.error() == condition::cancelled);
    CHECK(w.error().output() == nullptr);
    CHECK(said(got(std::move(later))) == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: cancel with nothing to cancel") {
    (*this)->cancel();
    script().expect("a").prints("fine").replies();
    CHECK(run("a") == "fine");
    (*this)->cancel();
    CHECK((*this)->interrupt());
    CHECK((*this)->stop());
    CHECK(script().interrupts() == 0); // an idle kernel is left alone
}

TEST_CASE_METHOD(scripted_box, "session: an interrupt is the code's affair") {
    script().expect("caught").waits_for_interrupt().prints("caught it").replies();
    script().expect("not").waits_for_interrupt().raises("KeyboardInterrupt", "");
    auto caught = begin("caught");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->interrupt());
    CHECK(said(got(std::move(caught))) == "caught it");
    auto r = begin("not");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->interrupt());
    auto const e = got(std::move(r));
    REQUIRE_FALSE(e);
    CHECK(e.error() == errc::python_error);
}

TEST_CASE_METHOD(scripted_box, "session: input is asked for and given") {
    script().expect("input").prints("hello ").asks("name? ").prints("thanks").replies();
    std::string prompt;
    auto const ask = [&](input_request const& q) {
        prompt = q.prompt();
        q.reply("Ada");
        q.reply("too late");
        q.refuse();
    };
    CHECK(run("input", {.on_input = ask}) == "hello thanks");
    CHECK(prompt == "name? ");
    CHECK((*this)->stop());
    CHECK(script().inputs() == std::vector<std::string>{"Ada"});
}

TEST_CASE_METHOD(scripted_box, "session: input that is refused, dropped, not handled, or whose handler throws") {
    for (int i = 0; i < 4; ++i) script().expect("input").asks("? ").prints("went on").replies();
    CHECK(run("input", {.on_input = [](input_request const& q) { q.refuse(); }}) == "went on");
    CHECK(run("input", {.on_input = [](input_request const&) {}}) == "went on");
    CHECK(run("input") == "went on");
    CHECK(run("input", {.on_input = [](input_request const&) { throw std::runtime_error("application"); }}) ==
          "went on");
    CHECK((*this)->stop());
    CHECK(script().inputs() == std::vector<std::string>(4, "\x04"));
}

TEST_CASE_METHOD(scripted_box, "session: input may be answered later, from another thread, or never") {
    script().expect("input").asks("? ").prints("went on").replies();
    script().expect("next").prints("fine").replies();
    std::thread typist;
    auto const ask = [&](input_request const& q) { typist = std::thread([q] { q.reply("typed"); }); };
    CHECK(run("input", {.on_input = ask}) == "went on");
    typist.join();

    // A question that outlives its executor.
    script().expect("input").asks("? ").waits_for_interrupt();
    std::promise<input_request> asked;
    auto const keep = [&](input_request q) { asked.set_value(std::move(q)); };
    CHECK(run("next") == "fine");
    auto call = begin("input", {.on_input = keep});
    auto const question = got(asked.get_future());
    drop();
    CHECK(said(got(std::move(call))) == not_running);
    question.reply("nobody listens");
}

TEST_CASE_METHOD(scripted_box, "session: a question of code that was cancelled is answered to nobody") {
    script().expect("first").asks("? ").replies();
    script().expect("second").waits_for_interrupt().prints("fine").replies();
    adapt([](executor_options& o) { o.kernel.interrupt_grace = 10ms; });
    std::promise<input_request> asked;
    auto call = begin("first", {.on_input = [&](input_request q) { asked.set_value(std::move(q)); }});
    auto const question = got(asked.get_future());
    (*this)->cancel();
    CHECK(said(got(std::move(call))) == cancelled);
    auto second = begin("second");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    question.reply("too late");
    REQUIRE((*this)->interrupt());
    CHECK(said(got(std::move(second))) == "fine");
    CHECK((*this)->stop());
    CHECK(script().inputs().empty());
}

TEST_CASE_METHOD(scripted_box, "session: a kernel that dies says how, and what came before") {
    script().expect("die").prints("last words").dies({{}, 11});
    script().expect("again").prints("fine").replies();
    auto const r = (*this)->execute("die");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK(r.error() == condition::kernel_lost);
    CHECK(r.error().status().signal == 11);
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "last words");
    CHECK((*this)->state() == executor::kernel_state::dead);

    auto const next = (*this)->execute("again");
    REQUIRE_FALSE(next);
    CHECK(next.error() == errc::kernel_died);
    CHECK(next.error().status().signal == 11);
    CHECK(contains(next.error().text(), "reset() brings a fresh one"));
    CHECK((*this)->reset());
    CHECK(run("again") == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: a kernel that dies is replaced, where that is wanted") {
    adapt([](executor_options& o) { o.kernel.restart_dead = true; });
    script().expect("die").dies({0, {}});
    script().expect("again").prints("fine").replies();
    script().expect("once more").prints("fine").replies();
    CHECK(run("die") == died);
    auto const r = (*this)->execute("again");
    REQUIRE(r);
    CHECK(r->text == "fine");
    CHECK(r->kernel_restarted);
    auto const second = (*this)->execute("once more");
    REQUIRE(second);
    CHECK_FALSE(second->kernel_restarted);
}

TEST_CASE_METHOD(scripted_box, "session: a kernel that dies between two executions") {
    script().expect("last").prints("said").replies().dies({3, {}});
    CHECK(run("last") == "said");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::dead; }));
    auto const r = (*this)->execute("more");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK(r.error().status().code == 3);
}

TEST_CASE_METHOD(scripted_box, "session: a kernel that says it ends, and does not, is ended") {
    jupyter::message leaving(jupyter::message::channel::shell, "execute_reply",
                             {{"status", "ok"}, {"payload", {{{"source", "ask_exit"}, {"keepkernel", false}}}}});
    script().expect("exit()").prints("bye").sends(leaving);
    script().expect("next").replies();
    CHECK(run("exit()") == "bye");
    CHECK(run("next") == died); // which a kernel that is about to end would leave unanswered
    CHECK(said((*this)->reset()) == "ok");
    CHECK(run("next").empty());
    CHECK(script().starts() == 2);
}

TEST_CASE_METHOD(scripted_box, "session: exit() that keeps the kernel keeps it") {
    adapt([](executor_options& o) { o.kernel.end_grace = std::chrono::seconds(60); });
    jupyter::message staying(jupyter::message::channel::shell, "execute_reply",
                             {{"status", "ok"}, {"payload", {{{"source", "ask_exit"}, {"keepkernel", true}}}}});
    script().expect("exit(keep_kernel=True)").sends(staying);
    script().expect("next").prints("kept").replies();
    auto const r = (*this)->execute("exit(keep_kernel=True)");
    REQUIRE(r);
    CHECK(r->elapsed < std::chrono::seconds(20)); // nobody waits for an end
    CHECK(run("next") == "kept");
}

TEST_CASE_METHOD(scripted_box, "session: times that no clock can count") {
    using limits = std::numeric_limits<std::chrono::milliseconds::rep>;
    std::chrono::milliseconds const longest(limits::max());
    std::chrono::milliseconds const shortest(limits::min());
    adapt([&](executor_options& o) { o.kernel.init_timeout = o.kernel.interrupt_grace = longest; });
    script().expect("long").prints("done").replies();
    script().expect("short").waits_for_interrupt().raises("KeyboardInterrupt", "");
    CHECK(run("long", {.timeout = longest}) == "done");
    CHECK(run("short", {.timeout = shortest}) == "<the time budget of the call ran out>");
    drop();
    script().forget();
    script().expect("none").waits_for_interrupt().waits_for_interrupt();
    adapt([&](executor_options& o) {
        o.kernel.init_timeout = longest;
        o.kernel.interrupt_grace = shortest;
    });
    CHECK(run("none", {.timeout = 1ms}) == "<the time budget of the call ran out>");
}

TEST_CASE_METHOD(scripted_box, "session: only a kernel that was replaced is called so") {
    auto without_a_fresh_one = 0;
    for (std::size_t n = 0; n < 12; ++n) {
        renew();
        adapt([](executor_options& o) { o.kernel.interrupt_grace = 5ms; });
        script().expect("loop").waits_for_interrupt().waits_for_interrupt().waits_for_interrupt();
        script().fail_at(n, error(errc::kernel_start_failed, "no kernel to be had"));
        auto const r = (*this)->execute("loop", {.timeout = 1ms});
        REQUIRE_FALSE(r);
        if (r.error() != errc::timed_out) continue; // something else failed
        auto const says = [text = r.error().text()](char const* part) { return text.find(part) != text.npos; };
        INFO(r.error().text());
        CHECK(says("replaced by a fresh one") == r.error().output()->kernel_restarted);
        if (says("there is no fresh one: no kernel to be had")) ++without_a_fresh_one;
    }
    CHECK(without_a_fresh_one > 0);
}

TEST_CASE_METHOD(scripted_box, "session: what comes behind the reply begins the next output") {
    script().expect("a").prints("now").replies().prints("late ").prints("err ", "stderr").shows({{"text/plain", "4 "}});
    script().expect("b").prints("then").replies();
    CHECK(run("a") == "now");
    auto b = (*this)->stream("b");
    std::string events;
    for (auto event = b.next(); event; event = b.next()) {
        if (auto const* chunk = std::get_if<output_chunk>(&*event))
            events += std::string(to_string(chunk->stream)) + ":" + chunk->text + "|";
        if (auto const* shown = std::get_if<display>(&*event)) events += *shown->data.find("text/plain") + "|";
        if (auto const* end = std::get_if<result<execution_result>>(&*event)) {
            CHECK(said(*end) == "late err \n4 \nthen");
            CHECK((*end && (*end)->displays.size() == 1));
        }
    }
    CHECK(events == "stdout:late |stderr:err |4 |stdout:then|");

    script().expect("c").replies().prints("of the old kernel");
    script().expect("d").prints("fresh").replies();
    CHECK(run("c").empty());
    REQUIRE((*this)->reset());
    CHECK(run("d") == "fresh");
}

TEST_CASE_METHOD(scripted_box, "session: reset ends what was submitted before, and nothing else") {
    script().expect("loop").prints("partial").waits_for_interrupt();
    script().expect("after").prints("fine").replies();
    auto running = (*this)->stream("loop");
    auto waiting = begin("never executed");
    auto const first = running.next();
    REQUIRE((first && std::holds_alternative<output_chunk>(*first)));
    auto reset = (*this)->async_reset(asio::use_future);
    auto after = begin("after");
    auto const last = running.next();
    REQUIRE((last && std::holds_alternative<result<execution_result>>(*last)));
    auto const& r = std::get<result<execution_result>>(*last);
    CHECK(said(r) == cancelled);
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "partial");
    CHECK(r.error().output()->kernel_restarted);
    CHECK(said(got(std::move(waiting))) == cancelled);
    CHECK(said(got(std::move(reset))) == "ok");
    CHECK(said(got(std::move(after))) == "fine");
    CHECK((*this)->stop());
    CHECK(script().starts() == 2);
}

TEST_CASE_METHOD(scripted_box, "session: stop, until it is started again") {
    script().expect("loop").prints("partial").waits_for_interrupt();
    script().expect("after").prints("fine").replies();
    auto running = begin("loop");
    auto waiting = begin("never executed");
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    CHECK((*this)->stop());
    auto const r = got(std::move(running));
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::not_running);
    CHECK(r.error().output()); // with what there was until then
    CHECK(said(got(std::move(waiting))) == not_running);
    CHECK((*this)->state() == executor::kernel_state::stopped);

    auto const refused = (*this)->execute("after");
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::not_running);
    CHECK(contains(refused.error().text(), "start() brings a fresh kernel"));
    CHECK((*this)->stop());
    CHECK((*this)->start());
    CHECK(run("after") == "fine");
    CHECK((*this)->stop());
    CHECK((*this)->reset()); // starts too
    CHECK((*this)->state() == executor::kernel_state::idle);
}

TEST_CASE_METHOD(scripted_box, "session: the destructor ends everything, also what is busy") {
    script().expect("loop").prints("partial").waits_for_interrupt();
    auto running = begin("loop");
    auto waiting = begin("never executed");
    auto reset = std::future<result<void>>();
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    drop();
    CHECK(said(got(std::move(running))) == not_running);
    CHECK(said(got(std::move(waiting))) == not_running);
}

TEST_CASE_METHOD(scripted_box, "session: the destructor directly behind calls that nobody has looked at") {
    for (int i = 0; i < 30; ++i) {
        script().forget();
        script().expect("a").prints("a").replies();
        adapt([](executor_options&) {});
        auto call = begin("a");
        auto start = (*this)->async_start(asio::use_future);
        auto stop = (*this)->async_stop(asio::use_future);
        drop();
        auto const text = said(got(std::move(call)));
        CHECK((text == "a" || text == not_running));
        (void)got(std::move(start));
        (void)got(std::move(stop));
    }
}

TEST_CASE_METHOD(scripted_box, "session: moving an executor, and moving another one onto it") {
    script().expect("a").prints("a").replies();
    script().expect("loop").waits_for_interrupt();
    executor_type moved(std::move(**this));
    CHECK(said(moved.execute("a")) == "a");
    auto running = moved.async_execute("loop", {}, asio::use_future);
    scripted_box other;
    other.script().expect("b").prints("b").replies();
    moved = std::move(*other);
    CHECK(said(got(std::move(running))) == not_running);
    CHECK(said(moved.execute("b")) == "b");
    auto const left = release();
}

TEST_CASE_METHOD(scripted_box, "session: files that cannot be written make the call fail, with its output") {
    std::ofstream(dir() / "images") << "in the way";
    script().expect("plot").prints("plotted").shows({{"image/png", "iVBORw0KGgo="}}).replies();
    script().expect("next").prints("fine").replies();
    auto const r = (*this)->execute("plot");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::io_error);
    REQUIRE(r.error().output());
    CHECK(r.error().output()->text == "plotted");
    CHECK(r.error().output()->displays.size() == 1);
    CHECK(run("next") == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: hostile messages are none of its business") {
    using ch = jupyter::message::channel;
    auto& cell = script().expect("cell");
    for (auto const* type : {"stream", "display_data", "update_display_data", "clear_output", "error", "status",
                             "comm_open", "kernel_info_reply", ""})
        for (nlohmann::json const& content :
             {nlohmann::json::object(),
              nlohmann::json{{"text", 5}, {"data", 5}, {"name", nullptr}, {"execution_state", 1}}})
            cell.sends({ch::iopub, type, content});
    cell.sends({ch::shell, "execute_reply", {{"status", "ok"}, {"payload", 5}}});
    CHECK(run("cell").empty());
    CHECK((*this)->state() == executor::kernel_state::idle);
}

TEST_CASE_METHOD(scripted_box, "session: an interpreter that does not exist") {
    adapt([](executor_options& o) { o.kernel.python = "/no/such/python"; });
    this->script().with_supervisor();
    for (int i = 0; i < 2; ++i) {
        auto const r = (*this)->execute("a");
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::python_not_found);
        CHECK(r.error() == condition::cannot_start);
    }
    CHECK((*this)->reset().error() == errc::python_not_found);
    CHECK((*this)->stop());
}
