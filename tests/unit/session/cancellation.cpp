#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// What the kernel of a test does: whether its starts come to an end, and how many were begun.
struct start_gate {
    std::atomic<bool> open = true;
    std::atomic<bool> interrupts_pass = true;
    std::atomic<int> begun = 0;
};

/// A script whose start, where the gate is closed, ends only with `stop`.
class gated_transport {
  public:
    static constexpr bool forks_kernels = false;
    static constexpr bool orders_messages = true;

    gated_transport(std::shared_ptr<kernel_script> script, std::shared_ptr<start_gate> gate)
        : inner_(std::move(script)), gate_(std::move(gate)) {}

    asio::awaitable<result<kernel_host::info>> start(std::shared_ptr<kernel_host> host, kernel_host::launch launch) {
        ++gate_->begun;
        if (!gate_->open) co_await never();
        auto starting = inner_.start(std::move(host), std::move(launch));
        co_return co_await std::move(starting);
    }
    asio::awaitable<result<void>> send(jupyter::message m) { return inner_.send(std::move(m)); }
    asio::awaitable<result<jupyter::message>> receive() { return inner_.receive(); }
    asio::awaitable<result<void>> interrupt() {
        if (!gate_->interrupts_pass) co_await never();
        auto interrupting = inner_.interrupt();
        co_return co_await std::move(interrupting);
    }
    asio::awaitable<void> stop() {
        if (held_) held_->cancel();
        return inner_.stop();
    }

  private:
    asio::awaitable<void> never() {
        auto const executor = co_await asio::this_coro::executor;
        held_ = std::make_shared<asio::steady_timer>(executor, 60s);
        auto const held = held_;
        asio::error_code stopped;
        co_await held->async_wait(asio::redirect_error(asio::use_awaitable, stopped));
    }

    scripted_transport inner_;
    std::shared_ptr<start_gate> gate_;
    std::shared_ptr<asio::steady_timer> held_;
};

/// An executor whose starts may be held up.
struct gated_box {
    scratch_dir dir;
    std::shared_ptr<kernel_script> script = std::make_shared<kernel_script>();
    std::shared_ptr<start_gate> gate = std::make_shared<start_gate>();
    basic_executor<gated_transport, no_sandbox, deny_approval> box{options_in(dir.path()), deny_approval(),
                                                                   no_sandbox(), gated_transport(script, gate)};

    static executor_options options_in(std::filesystem::path const& dir) {
        executor_options o;
        o.output.images_dir = dir / "images";
        o.output.spill_dir = dir / "spill";
        o.kernel.python = "/bin/true";
        o.kernel.restart_dead = true;
        return o;
    }

    /// Whether the n-th start is under way.
    bool starts(int n) {
        return eventually([&] { return gate->begun == n; });
    }
    std::string run(std::string code) {
        script->expect(code).prints("fine").replies();
        return said(box.execute(std::move(code)));
    }
};

/// A call that can be cancelled, and what it comes to.
class cancellable {
  public:
    auto token() {
        return asio::bind_cancellation_slot(signal_.slot(), [this](auto const& r) { outcome_.set_value(said(r)); });
    }
    void cancel() { signal_.emit(asio::cancellation_type::terminal); }
    std::string outcome() { return got(outcome_.get_future()); }

  private:
    asio::cancellation_signal signal_;
    std::promise<std::string> outcome_;
};

} // namespace

TEST_CASE_METHOD(gated_box, "session: a start under way can be cancelled, and a later one works", "[tsan]") {
    gate->open = false;
    cancellable start;
    box.async_start(start.token());
    REQUIRE(starts(1));
    start.cancel();
    CHECK(start.outcome() == cancelled);
    CHECK(box.state() == executor::kernel_state::stopped);
    gate->open = true;
    CHECK(said(box.start()) == "ok");
    CHECK(run("a") == "fine");
}

TEST_CASE_METHOD(gated_box, "session: a start that waits its turn is taken out of the queue") {
    gate->open = false;
    cancellable first;
    cancellable second;
    cancellable reset;
    box.async_start(first.token());
    REQUIRE(starts(1));
    box.async_start(second.token());
    box.async_reset(reset.token());
    second.cancel();
    reset.cancel();
    CHECK(second.outcome() == cancelled);
    CHECK(reset.outcome() == cancelled);
    first.cancel();
    CHECK(first.outcome() == cancelled);
    CHECK(gate->begun == 1); // the first one only
    gate->open = true;
    CHECK(run("a") == "fine");
}

TEST_CASE_METHOD(gated_box,
                 "session: a reset that starts a kernel can be cancelled: there is none then, until the next call") {
    REQUIRE(run("a") == "fine");
    gate->open = false;
    cancellable reset;
    box.async_reset(reset.token());
    REQUIRE(starts(2));
    reset.cancel();
    CHECK(reset.outcome() == cancelled);
    CHECK(box.state() == executor::kernel_state::stopped);
    gate->open = true;
    CHECK(run("b") == "fine");
    CHECK(gate->begun == 3);
}

TEST_CASE_METHOD(gated_box,
                 "session: a call whose kernel does not come can be cancelled, by its slot and by cancel()") {
    gate->open = false;
    cancellable call;
    box.async_execute("never", {}, call.token());
    REQUIRE(starts(1));
    call.cancel();
    CHECK(call.outcome() == cancelled);
    cancellable other;
    box.async_execute("never", {}, other.token());
    REQUIRE(starts(2));
    box.cancel();
    CHECK(other.outcome() == cancelled);
    gate->open = true;
    CHECK(run("a") == "fine");
}

TEST_CASE_METHOD(gated_box, "session: a dead kernel whose successor was cancelled is still told of") {
    script->expect("die").dies({1, std::nullopt});
    CHECK(box.execute("die").error() == errc::kernel_died);
    gate->open = false;
    cancellable call;
    box.async_execute("never", {}, call.token());
    REQUIRE(starts(2));
    call.cancel();
    CHECK(call.outcome() == cancelled);
    gate->open = true;
    script->expect("a").replies();
    auto const r = box.execute("a");
    REQUIRE(r);
    CHECK(r->kernel_restarted);
}

TEST_CASE_METHOD(gated_box, "session: an interrupt that does not get through can be cancelled", "[tsan]") {
    script->expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
    auto running = box.async_execute("loop", {}, asio::use_future);
    REQUIRE(eventually([&] { return box.state() == executor::kernel_state::busy; }));
    gate->interrupts_pass = false;
    cancellable interrupt;
    box.async_interrupt(interrupt.token());
    interrupt.cancel();
    CHECK(interrupt.outcome() == cancelled);
    interrupt.cancel(); // it is over
    CHECK(said(box.stop()) == "ok");
    CHECK(said(got(std::move(running))) == not_running);
}

TEST_CASE_METHOD(gated_box, "session: a signal that comes too late changes nothing") {
    cancellable start;
    box.async_start(start.token());
    CHECK(start.outcome() == "ok");
    start.cancel();
    CHECK(run("a") == "fine");
    CHECK(gate->begun == 1);
    cancellable stop;
    box.async_stop(stop.token());
    stop.cancel(); // which it does not heed
    CHECK(stop.outcome() == "ok");
    CHECK(box.state() == executor::kernel_state::stopped);
}

TEST_CASE("session: the application's context goes on while the interpreter is looked for, which can be given up",
          "[tsan]") {
    scripted_box box;
    auto const shim = box.dir() / "python";
    std::ofstream(shim) << "#!/bin/sh\nexec /bin/sleep 60\n";
    std::filesystem::permissions(shim, std::filesystem::perms::owner_all);
    asio::io_context context;
    box.adapt([&](executor_options& o) { o.kernel.python = shim; });
    box.script().with_supervisor();
    box.on(context.get_executor());
    auto const before = std::chrono::steady_clock::now();
    cancellable start;
    box->async_start(start.token());
    asio::steady_timer timer(context, 20ms);
    timer.async_wait([&](asio::error_code) { start.cancel(); });
    context.run();
    CHECK(start.outcome() == cancelled);
    box->async_start([](result<void> const&) {});
    context.restart();
    context.run_for(20ms);
    box.drop(); // does not wait either
    context.run();
    CHECK(std::chrono::steady_clock::now() - before < 5s);
}

TEST_CASE_METHOD(gated_box, "session: start || timer") {
    using namespace asio::experimental::awaitable_operators;
    gate->open = false;
    asio::io_context context;
    bool timed_out = false;
    auto const race = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, 20ms);
        auto const winner = co_await (box.async_start() || timer.async_wait(asio::use_awaitable));
        timed_out = winner.index() == 1;
    };
    auto const before = std::chrono::steady_clock::now();
    auto done = asio::co_spawn(context, race, asio::use_future);
    context.run();
    CHECK_NOTHROW(done.get());
    CHECK(timed_out);
    CHECK(std::chrono::steady_clock::now() - before < 5s);
    gate->open = true;
    CHECK(run("a") == "fine");
}

TEST_CASE("session: a kernel whose code was given up for a reset that is cancelled is replaced, not used") {
    scripted_box box;
    asio::io_context context;
    box.on(context.get_executor());
    box.script().expect("loop").waits_for_interrupt();
    box.script().expect("b").prints("fresh").replies();
    auto const runs_until = [&](auto condition) {
        return eventually([&] {
            context.restart();
            context.run_for(1ms);
            return condition();
        });
    };
    auto loop = box.begin("loop");
    REQUIRE(runs_until([&] { return box->state() == executor::kernel_state::busy; }));
    cancellable reset;
    box->async_reset(reset.token());
    reset.cancel(); // both are on their way before the session does anything
    auto const ready = [](auto& future) { return future.wait_for(0s) == std::future_status::ready; };
    REQUIRE(runs_until([&] { return ready(loop); }));
    CHECK(said(loop.get()) == cancelled);
    CHECK(reset.outcome() == cancelled);

    auto next = box.begin("b");
    REQUIRE(runs_until([&] { return ready(next); }));
    auto const r = next.get();
    CHECK(said(r) == "fresh");
    CHECK((r && r->kernel_restarted));
    CHECK(box.script().starts() == 2);
}
