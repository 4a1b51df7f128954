#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/transport/scripted_transport.hpp>

#include <support/catch.hpp>
#include <support/transport_driver.hpp>

#include <asio/detached.hpp>

#include <memory>
#include <string>
#include <utility>

namespace {

using namespace ipybox;
using test::run;
using test::transport_driver;

jupyter::message request(std::string code, std::string id = "r") {
    jupyter::message m(jupyter::message::channel::shell, "execute_request", {{"code", std::move(code)}});
    m.id = std::move(id);
    return m;
}

struct fixture {
    std::shared_ptr<kernel_script> script = std::make_shared<kernel_script>();
    transport_driver<scripted_transport> driver{scripted_transport(script), {}};

    std::string type() {
        auto const m = driver.receive();
        return m ? m->type : "<" + m.error().code().message() + ">";
    }
};

} // namespace

TEST_CASE_METHOD(fixture, "scripted_transport: the dialogue of its page") {
    script->expect("1+1").prints("thinking\n").shows({{"text/plain", "2"}}).replies();
    script->expect("loop()").waits_for_interrupt().raises("KeyboardInterrupt", "");
    REQUIRE(driver.start({}));
    auto const first = driver.execute("1+1");
    CHECK(first.out == "thinking\n");
    CHECK(first.status == "ok");

    auto const id = driver.submit("loop()");
    REQUIRE(driver.interrupt());
    CHECK(driver.finish(id).status == "error");
    CHECK(script->starts() == 1);
    CHECK(script->interrupts() == 1);
}

TEST_CASE("scripted_transport: the executor of its page") {
    auto script = std::make_shared<kernel_script>();
    script->expect("1+1").prints("thinking\n").shows({{"text/plain", "2"}}).replies();
    executor_options options;
    options.kernel.python = "/bin/true"; // no kernel, so any program will do
    basic_executor box{options, deny_approval{}, no_sandbox{}, scripted_transport{script}};
    auto const r = box.execute("1+1");
    REQUIRE(r);
    CHECK(r->text == "thinking\n2");
}

TEST_CASE_METHOD(fixture, "scripted_transport: messages get the request as parent") {
    script->expect("x")
        .prints("a", "stderr")
        .sends({jupyter::message::channel::iopub, "clear_output", {{"wait", true}}})
        .replies();
    REQUIRE(driver.start({}));
    REQUIRE(driver.send(request("x", "mine")));
    for (auto const* expected : {"stream", "clear_output", "execute_reply"}) {
        auto const m = driver.receive();
        REQUIRE(m);
        CHECK(m->type == expected);
        CHECK(m->parent_id == "mine");
    }
}

TEST_CASE_METHOD(fixture, "scripted_transport: asks, and goes on with the answer") {
    script->expect("input()").asks("name? ").prints("thanks").replies();
    REQUIRE(driver.start({}));
    REQUIRE(driver.send(request("input()")));
    auto const question = driver.receive();
    REQUIRE(question);
    CHECK(question->type == "input_request");
    CHECK(jupyter::message::field(question->content, "prompt") == "name? ");
    REQUIRE(driver.interrupt()); // is not what it waits for
    REQUIRE(driver.send({jupyter::message::channel::stdin_, "input_reply", {{"value", "Ada"}}}));
    CHECK(type() == "stream");
    CHECK(type() == "execute_reply");
    CHECK(script->inputs() == std::vector<std::string>{"Ada"});
}

TEST_CASE_METHOD(fixture, "scripted_transport: dies, for good") {
    script->expect("die").prints("last words").dies({{}, 9}).prints("never");
    REQUIRE(driver.start({}));
    REQUIRE(driver.send(request("die")));
    CHECK(type() == "stream");
    for (int i = 0; i < 3; ++i) {
        auto const m = driver.receive();
        REQUIRE_FALSE(m);
        CHECK(m.error() == errc::kernel_died);
        CHECK(m.error().status().signal == 9);
    }
    CHECK(driver.send(request("more")).error() == errc::kernel_died);
    driver.stop();
    REQUIRE(driver.start({}));
    CHECK(script->starts() == 2);
}

TEST_CASE_METHOD(fixture, "scripted_transport: code that the script does not expect") {
    script->expect("a").replies();
    REQUIRE(driver.start({}));
    REQUIRE(driver.send(request("b")));
    auto const m = driver.receive();
    REQUIRE_FALSE(m);
    CHECK(m.error() == errc::protocol_error);
    CHECK(m.error().text() == "the script does not expect: b");
}

TEST_CASE_METHOD(fixture, "scripted_transport: before start, and after stop") {
    CHECK(driver.receive().error() == errc::not_running);
    CHECK_FALSE(driver.send(request("a")));
    driver.stop();
    REQUIRE(driver.start({}));
    driver.stop();
    driver.stop();
    CHECK(driver.receive().error() == errc::not_running);
}

TEST_CASE_METHOD(fixture, "scripted_transport: stopping ends a receive that waits") {
    REQUIRE(driver.start({}));
    std::string ended;
    auto const wait = [&]() -> asio::awaitable<void> {
        auto const m = co_await driver.transport().receive();
        ended = m ? "message" : m.error().text();
    };
    asio::co_spawn(driver.context(), wait(), asio::detached);
    driver.context().poll();
    CHECK(ended.empty());
    driver.stop();
    driver.context().restart();
    driver.context().poll();
    CHECK(ended == "the kernel was stopped");
}

TEST_CASE_METHOD(fixture, "scripted_transport: the n-th operation fails, the others do not") {
    auto const dialogue = [&] {
        script->expect("a").replies();
        std::string went;
        went += driver.start({}) ? 's' : '-';
        went += driver.send(request("a")) ? 's' : '-';
        went += driver.receive() ? 'r' : '-';
        went += driver.interrupt() ? 'i' : '-';
        return went;
    };
    script->fail_at(2, error(errc::io_error, "as asked for"));
    CHECK(dialogue() == "ss-i");
    CHECK(script->operations() == 4);
    script->fail_at(7, error(errc::io_error, "as asked for"));
    CHECK(dialogue() == "ssr-");
    CHECK(dialogue() == "ssri");
}
