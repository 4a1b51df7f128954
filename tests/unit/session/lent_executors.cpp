#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// What a thread does with an executor, a stream or a job until its end.
using use = std::function<void()>;

/// Has a thread use something again and again, and destroys something else meanwhile.
void use_while(use const& again, use const& destroy) {
    std::atomic<bool> begun = false;
    std::atomic<bool> over = false;
    std::thread other([&] {
        do {
            again();
            begun = true;
        } while (!over);
    });
    while (!begun) std::this_thread::yield();
    destroy();
    over = true;
    other.join();
}

std::string last_of(execution_stream& stream) {
    std::string text = "(none)";
    while (auto const e = stream.next())
        if (auto const* last = std::get_if<result<execution_result>>(&*e)) text = said(*last);
    return text;
}

} // namespace

TEST_CASE_METHOD(scripted_box, "lent executors: the context goes while operations begin", "[tsan]") {
    for (int round = 0; round < 60; ++round) {
        auto context = std::make_unique<asio::io_context>();
        on(context->get_executor());
        auto& box = **this;
        std::vector<use> const uses = {[&] { box.async_interrupt([](auto const&) {}); },
                                       [&] { box.async_execute("1", [](auto const&) {}); },
                                       [&] { box.async_get("a", [](auto const&) {}); }};
        use_while(uses[static_cast<std::size_t>(round) % uses.size()], [&] { context.reset(); });
        CHECK(said(box.start()) == not_running);
        drop();
    }
}

TEST_CASE_METHOD(scripted_box, "lent executors: the executor and its context go while a stream or a job is waited for",
                 "[tsan]") {
    for (int round = 0; round < 60; ++round) {
        bool const own_thread = round % 2 == 0;
        auto context = std::make_unique<asio::io_context>();
        script().forget();
        script().expect("a").prints("x").waits_for_interrupt();
        if (own_thread)
            renew();
        else
            on(context->get_executor());
        auto stream = (*this)->stream("a");
        auto const job = (*this)->submit("b");
        auto const go = [&] {
            drop();
            context.reset();
        };
        if (round % 4 < 2)
            use_while([&] { stream.async_next([](auto const&) {}); }, go);
        else
            use_while([&] { job.async_wait(1s, [](bool) {}); }, go);
        CHECK(job.state() == job::stage::ended);
    }
}

TEST_CASE_METHOD(scripted_box, "lent executors: who asks whether a context is run hears of its end", "[tsan]") {
    for (bool const of_stream : {true, false}) {
        auto context = std::make_unique<asio::io_context>(); // no thread runs it
        on(context->get_executor());
        auto stream = (*this)->stream("a");
        std::string text;
        auto const began = std::chrono::steady_clock::now();
        std::thread other([&] { text = of_stream ? last_of(stream) : said((*this)->interrupt()); });
        std::this_thread::sleep_for(100ms);
        if (of_stream) drop();
        context.reset();
        other.join();
        CHECK(text == not_running);
        CHECK(std::chrono::steady_clock::now() - began < 4s); // would_deadlock comes after five
        if (!of_stream) drop();
    }
}

TEST_CASE_METHOD(scripted_box, "lent executors: the context goes while another thread destroys the executor",
                 "[tsan]") {
    for (int round = 0; round < 60; ++round) {
        auto context = std::make_unique<asio::io_context>();
        script().forget();
        script().expect("a").prints("x").waits_for_interrupt();
        on(context->get_executor());
        auto running = begin("a");
        if (round % 2 == 0) context->poll();
        std::atomic<int> there = 0;
        std::thread other([&] {
            ++there;
            while (there < 2) {}
            drop();
        });
        ++there;
        while (there < 2) {}
        context.reset();
        other.join();
        CHECK(said(got(std::move(running))) == not_running);
    }
}
