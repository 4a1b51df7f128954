#include <support/catch.hpp>
#include <support/denied_call.hpp>
#include <support/scripted_box.hpp>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/** \file
 * For every dialogue and every n: the n-th operation of the transport fails. Whatever it was, every call completes,
 * with an error that says something, and the executor can be used again.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// A transport of an application that throws, the first time that it is asked for one of its operations.
class throwing_transport : public scripted_transport {
  public:
    enum class operation { start, send, receive, interrupt };

    throwing_transport(std::shared_ptr<kernel_script> script, operation throwing)
        : scripted_transport(std::move(script)), throwing_(throwing) {}

    asio::awaitable<result<kernel_host::info>> start(std::shared_ptr<kernel_host> host, kernel_host::launch launch) {
        throw_at(operation::start);
        return scripted_transport::start(std::move(host), std::move(launch));
    }
    asio::awaitable<result<void>> send(jupyter::message m) {
        throw_at(operation::send);
        return scripted_transport::send(std::move(m));
    }
    asio::awaitable<result<jupyter::message>> receive() {
        throw_at(operation::receive);
        return scripted_transport::receive();
    }
    asio::awaitable<result<void>> interrupt() {
        throw_at(operation::interrupt);
        return scripted_transport::interrupt();
    }

  private:
    void throw_at(operation here) {
        if (here != throwing_) return;
        throwing_.reset();
        throw std::bad_alloc();
    }

    std::optional<operation> throwing_;
};

/// A transport whose first kernel is not known to have ended before the test says so, long after it was told to.
class late_transport : public scripted_transport {
  public:
    struct gate {
        std::atomic<bool> open = false;
        std::atomic<int> passed = 0;
    };

    late_transport(std::shared_ptr<kernel_script> script, std::shared_ptr<gate> end)
        : scripted_transport(std::move(script)), end_(std::move(end)) {}

    asio::awaitable<result<jupyter::message>> receive() {
        auto const end = end_;
        bool const first = std::exchange(first_, false);
        auto got = scripted_transport::receive();
        if (!first) co_return co_await std::move(got);
        auto m = co_await std::move(got);
        asio::steady_timer look(co_await asio::this_coro::executor);
        for (; !end->open; look.expires_after(5ms)) {
            asio::error_code ignored;
            co_await look.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        }
        ++end->passed;
        co_return m;
    }

  private:
    std::shared_ptr<gate> end_;
    bool first_ = true;
};

template <class Transport>
using box_of = basic_executor<Transport, no_sandbox, deny_approval>;

executor_options options_in(std::filesystem::path const& dir) {
    executor_options options;
    options.output.images_dir = dir / "images";
    options.output.spill_dir = dir / "spill";
    options.kernel.python = "/bin/true";
    return options;
}

/// The errors of the calls of a dialogue; every call has completed.
class outcomes {
  public:
    template <class T>
    void add(result<T> const& r) {
        if (!r) errors_.push_back(r.error());
    }
    template <class T>
    void add(std::future<result<T>> f) {
        add(got(std::move(f)));
    }

    [[nodiscard]] std::vector<error> const& errors() const { return errors_; }

  private:
    std::vector<error> errors_;
};

struct dialogue {
    char const* name;
    std::function<void(executor_options&)> adapt;
    std::function<void(kernel_script&)> write;
    std::function<void(scripted_box&, outcomes&)> play;
};

void as_it_is(executor_options&) {}
void short_grace(executor_options& o) { o.kernel.interrupt_grace = 5ms; }

std::vector<dialogue> const dialogues = {
    {"two cells", as_it_is,
     [](kernel_script& s) {
         s.expect("a").prints("x").shows({{"text/plain", "y"}}).replies();
         s.expect("b").raises("E", "v");
     },
     [](scripted_box& box, outcomes& all) {
         auto a = box.begin("a");
         auto b = box.begin("b");
         all.add(std::move(a));
         all.add(std::move(b));
     }},
    {"a timeout", as_it_is,
     [](kernel_script& s) {
         s.expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
         s.expect("next").replies();
     },
     [](scripted_box& box, outcomes& all) {
         all.add(box->execute("loop", {.timeout = 1ms}));
         all.add(box->execute("next"));
     }},
    {"a kernel that has to be killed", short_grace,
     [](kernel_script& s) {
         s.expect("loop").prints("x").waits_for_interrupt().waits_for_interrupt().waits_for_interrupt();
         s.expect("next").replies();
     },
     [](scripted_box& box, outcomes& all) {
         all.add(box->execute("loop", {.timeout = 1ms}));
         all.add(box->execute("next"));
     }},
    {"cancelling", short_grace,
     [](kernel_script& s) { s.expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", ""); },
     [](scripted_box& box, outcomes& all) {
         all.add(box->async_start(asio::use_future));
         auto running = box.begin("loop");
         auto waiting = box.begin("never");
         box->cancel();
         auto interrupted = box->async_interrupt(asio::use_future);
         all.add(std::move(running));
         all.add(std::move(waiting));
         all.add(std::move(interrupted));
     }},
    {"input", as_it_is, [](kernel_script& s) { s.expect("ask").asks("1").prints("x").asks("2").replies(); },
     [](scripted_box& box, outcomes& all) {
         all.add(box->execute("ask", {.on_input = [](input_request const& q) { q.reply("line"); }}));
     }},
    {"a stream", as_it_is,
     [](kernel_script& s) { s.expect("a").prints("x").shows({{"text/plain", "y"}}).prints("z", "stderr").replies(); },
     [](scripted_box& box, outcomes& all) {
         auto stream = box->stream("a");
         std::optional<result<execution_result>> last;
         while (auto event = got(stream.async_next(asio::use_future)))
             if (auto* end = std::get_if<result<execution_result>>(&*event)) last = std::move(*end);
         REQUIRE(last);
         all.add(*last);
     }},
    {"starting and stopping", as_it_is, [](kernel_script& s) { s.expect("a").replies(); },
     [](scripted_box& box, outcomes& all) {
         auto started = box->async_start(asio::use_future);
         auto reset = box->async_reset(asio::use_future);
         auto stopped = box->async_stop(asio::use_future);
         auto again = box->async_start(asio::use_future);
         auto cell = box.begin("a");
         all.add(std::move(started));
         all.add(std::move(reset));
         all.add(std::move(stopped));
         all.add(std::move(again));
         all.add(std::move(cell));
     }},
    {"a death", [](executor_options& o) { o.kernel.restart_dead = true; },
     [](kernel_script& s) {
         s.expect("die").prints("x").dies({1, {}});
         s.expect("next").replies();
     },
     [](scripted_box& box, outcomes& all) {
         all.add(box->execute("die"));
         all.add(box->execute("next"));
     }},
};

/// Plays a dialogue and stops; how many operations it took.
std::size_t play(dialogue const& d, std::optional<std::size_t> failing, outcomes& all) {
    scripted_box box;
    d.write(box.script());
    if (failing) box.script().fail_at(*failing, error(errc::io_error, "as asked for"));
    box.adapt(d.adapt);
    d.play(box, all);
    REQUIRE(got(box->async_stop(asio::use_future)));
    auto const count = box.script().operations();

    // Whatever has happened, it can be used again; the failing operation may only be among the ones that come now.
    box.script().forget();
    auto reset = got(box->async_reset(asio::use_future));
    if (!reset) reset = got(box->async_reset(asio::use_future));
    CHECK(said(reset) == "ok");
    box.script().expect("after").prints("fine").replies();
    auto after = said(got(box.begin("after")));
    if (after != "fine") {
        REQUIRE(got(box->async_stop(asio::use_future)));
        box.script().forget();
        box.script().expect("after").prints("fine").replies();
        REQUIRE(got(box->async_reset(asio::use_future)));
        after = said(got(box.begin("after")));
    }
    CHECK(after == "fine");
    CHECK(box->state() == executor::kernel_state::idle);
    return count;
}

} // namespace

TEST_CASE("session: the n-th operation fails, for every n of every dialogue") {
    for (auto const& d : dialogues) {
        INFO(d.name);
        outcomes undisturbed;
        auto const count = play(d, std::nullopt, undisturbed);
        REQUIRE(count > 0);
        for (std::size_t n = 0; n < count; ++n) {
            INFO("operation " << n << " of " << count);
            outcomes all;
            (void)play(d, n, all);
            for (auto const& e : all.errors()) {
                CHECK(e.code().category() == detail::error_category());
                CHECK_FALSE(e.text().empty());
            }
        }
    }
}

TEST_CASE("session: destroyed at whatever operation fails") {
    for (auto const& d : dialogues) {
        INFO(d.name);
        for (std::size_t n = 0; n < 8; ++n) {
            scripted_box box;
            d.write(box.script());
            box.script().fail_at(n, error(errc::io_error, "as asked for"));
            box.adapt(d.adapt);
            outcomes all;
            d.play(box, all);
            box.drop();
        }
    }
}

TEST_CASE_METHOD(scripted_box, "session: a start that fails says why, and the next call tries again") {
    script().fail_at(0, error(errc::kernel_start_failed, "no kernel today"));
    script().expect("a").prints("fine").replies();
    auto const r = (*this)->execute("a");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_start_failed);
    CHECK(r.error().text() == "no kernel today");
    CHECK((*this)->state() == executor::kernel_state::stopped);
    CHECK(run("a") == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: the destructor does not wait for a script that stands for an interpreter") {
    auto const script = dir() / "python";
    auto const asked = dir() / "asked";
    std::ofstream(script) << "#!/bin/sh\ntouch " << asked.string() << "\nexec sleep 60\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    adapt([&](executor_options& o) { o.kernel.python = script; });
    this->script().with_supervisor();
    auto waiting = begin("a");
    REQUIRE(eventually([&] { return std::filesystem::exists(asked); }));
    auto const before = std::chrono::steady_clock::now();
    drop();
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
    CHECK(got(std::move(waiting)).error() == errc::not_running);
}

TEST_CASE_METHOD(scripted_box, "session: a supervisor that has died is replaced without a word") {
    script().fail_at(0, error(errc::supervisor_died, "killed by somebody"));
    script().expect("a").prints("fine").replies();
    CHECK(run("a") == "fine");
}

TEST_CASE_METHOD(scripted_box, "session: a request that cannot be sent, and one that breaks the protocol") {
    script().fail_at(1, error(errc::message_too_large, "too large"));
    script().expect("a").prints("fine").replies();
    auto const r = (*this)->execute("a");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::message_too_large);
    REQUIRE((*this)->reset());
    CHECK(run("a") == "fine");

    auto const wrong = (*this)->execute("not in the script");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error() == errc::protocol_error);
    CHECK((*this)->state() == executor::kernel_state::dead);
}

TEST_CASE("session: what a transport throws is an error, not success") {
    scratch_dir const dir;
    auto const script = std::make_shared<kernel_script>();
    script->expect("loop").waits_for_interrupt().replies();
    box_of<throwing_transport> box(options_in(dir.path()), deny_approval(), no_sandbox(),
                                   throwing_transport(script, throwing_transport::operation::interrupt));
    auto running = box.async_execute("loop", {}, asio::use_future);
    REQUIRE(eventually([&] { return box.state() == executor::kernel_state::busy; }));
    auto const interrupted = box.interrupt();
    CHECK(box.interrupt());
    CHECK(got(std::move(running)));
    REQUIRE_FALSE(interrupted);
    CHECK(interrupted.error() == errc::io_error);
}

TEST_CASE("session: a transport that throws, for want of memory say, leaves no call waiting") {
    using operation = throwing_transport::operation;
    for (auto const throwing : {operation::start, operation::send, operation::receive}) {
        INFO(static_cast<int>(throwing));
        scratch_dir const dir;
        auto const script = std::make_shared<kernel_script>();
        script->expect("a").prints("x").replies();
        box_of<throwing_transport> box(options_in(dir.path()), deny_approval(), no_sandbox(),
                                       throwing_transport(script, throwing));
        auto first = box.async_execute("a", {}, asio::use_future);
        auto second = box.async_execute("b", {}, asio::use_future);
        auto const failed = got(std::move(first));
        REQUIRE_FALSE(failed);
        CHECK_FALSE(failed.error().text().empty());
        (void)got(std::move(second));
        script->forget();
        CHECK(said(got(box.async_reset(asio::use_future))) == "ok");
        script->expect("after").prints("fine").replies();
        CHECK(said(got(box.async_execute("after", {}, asio::use_future))) == "fine");
    }
}

TEST_CASE("session: the end of a former kernel that comes late is not the present one's") {
    scratch_dir const dir;
    auto const script = std::make_shared<kernel_script>();
    auto const end = std::make_shared<late_transport::gate>();
    script->expect("a").prints("fine").replies();
    box_of<late_transport> box(options_in(dir.path()), deny_approval(), no_sandbox(), late_transport(script, end));
    REQUIRE(got(box.async_start(asio::use_future)));
    REQUIRE(got(box.async_reset(asio::use_future))); // does not wait for it for ever
    end->open = true;
    REQUIRE(eventually([&] { return end->passed == 1; }));
    CHECK(said(got(box.async_execute("a", {}, asio::use_future))) == "fine");
    CHECK(box.state() == executor::kernel_state::idle);
    CHECK(script->starts() == 2);
}

TEST_CASE_METHOD(scripted_box,
                 "session: where no thread can be made for the search of an interpreter, a start says so") {
    script().with_supervisor();
    script().expect("a").prints("fine").replies();
    asio::io_context context;
    on(context.get_executor());
    std::optional<result<void>> started;
    std::string escaped;
    without_calls({SYS_clone, SYS_clone3}, [&] {
        (*this)->async_start([&](result<void> r) { started = std::move(r); });
        try {
            context.run_for(30s);
        } catch (std::exception const& e) { escaped = e.what(); }
    });
    CHECK(escaped.empty());
    REQUIRE(started);
    REQUIRE_FALSE(*started);
    CHECK(started->error() == errc::kernel_start_failed);
    CHECK(started->error() == condition::cannot_start);
    CHECK_THAT(started->error().text(), Catch::Matchers::Contains("no thread can be started"));
    drop();
}

TEST_CASE_METHOD(scripted_box, "session: an executor that is destroyed on its own thread needs no other to end") {
    script().expect("a").prints("fine").replies();
    CHECK(run("a") == "fine");
    std::promise<void> gone;
    std::promise<void> posted;
    auto const executor = (*this)->get_executor();
    asio::post(executor, [&, box = release()]() mutable {
        posted.get_future().wait(); // the context must not go before `post` has returned
        deny_calls({SYS_clone, SYS_clone3});
        box.reset();
        gone.set_value();
    });
    posted.set_value();
    got(gone.get_future());
}

TEST_CASE_METHOD(scripted_box, "session: times at their limits overflow nothing, and no call waits for ever") {
    using std::chrono::milliseconds;
    for (auto const limit : {milliseconds::max(), milliseconds::min(), milliseconds(0)}) {
        INFO(limit.count());
        script().forget();
        script().expect("a").prints("fine").replies();
        adapt([limit](executor_options& o) {
            o.kernel.init_timeout = limit;
            o.kernel.interrupt_grace = limit;
            o.kernel.end_grace = limit;
            o.approval.timeout = limit;
        });
        auto const outcome = got(begin("a", {.timeout = limit}));
        CHECK((outcome || outcome.error() == condition::timeout));
        if (limit == milliseconds::max()) CHECK(said(outcome) == "fine");
        (void)got((*this)->async_reset(asio::use_future));
        CHECK(said(got((*this)->async_stop(asio::use_future))) == "ok");
    }
}

// Sanitizers have operators of their own, and want memory back by those.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IPYBOX_TEST_IS_SANITIZED
#endif
#endif

#ifndef IPYBOX_TEST_IS_SANITIZED
namespace {

/// Allocations of more bytes fail.
std::atomic<std::size_t> longest_allocation = std::numeric_limits<std::size_t>::max();

} // namespace

void* operator new(std::size_t size) {
    auto* const memory = size > longest_allocation ? nullptr : std::malloc(std::max<std::size_t>(size, 1));
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE_METHOD(scripted_box, "session: for want of memory a call fails, and not the thread that serves it") {
    script().expect("a").prints("fine").replies();
    asio::io_context context;
    on(context.get_executor());
    std::optional<result<std::uint64_t>> approved;
    (*this)->async_approve({.kind = approval_subject::action::shell, .code = std::string(std::size_t(8) << 20, 'x')},
                           [&](result<std::uint64_t> r) { approved = std::move(r); });
    CHECK_FALSE(approved);
    std::string escaped;
    longest_allocation = std::size_t(1) << 20;
    try {
        while (!approved && context.run_one_for(30s) > 0) {}
    } catch (std::exception const& e) { escaped = e.what(); }
    longest_allocation = std::numeric_limits<std::size_t>::max();
    CHECK(escaped.empty());
    REQUIRE(approved);
    REQUIRE_FALSE(*approved);
    CHECK_THAT(approved->error().text(), Catch::Matchers::Contains("bad_alloc"));

    std::optional<result<execution_result>> next;
    (*this)->async_execute("a", {}, [&](result<execution_result> r) { next = std::move(r); });
    context.restart();
    while (!next && context.run_one_for(30s) > 0) {}
    REQUIRE(next);
    CHECK(said(*next) == "fine");
    drop();
}

#endif // IPYBOX_TEST_IS_SANITIZED
