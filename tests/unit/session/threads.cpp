#include <support/catch.hpp>
#include <support/scripted_box.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

} // namespace

TEST_CASE_METHOD(scripted_box, "session: eight threads on one executor", "[tsan]") {
    for (int i = 0; i < 8 * 25; ++i) script().expect("a").prints("fine").replies();
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 25; ++i)
                if (run("a") == "fine") ++good;
        });
    for (auto& t : threads) t.join();
    CHECK(good == 8 * 25);
}

TEST_CASE_METHOD(scripted_box, "session: cancelled from another thread", "[tsan]") {
    for (int i = 0; i < 20; ++i)
        script().expect("loop").prints("x").waits_for_interrupt().raises("KeyboardInterrupt", "");
    for (int i = 0; i < 20; ++i) {
        std::string text;
        std::thread caller([&] { text = run("loop"); });
        CHECK(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
        (*this)->cancel();
        caller.join();
        CHECK(text == cancelled);
    }
}

TEST_CASE_METHOD(scripted_box, "session: interrupted from another thread", "[tsan]") {
    script().expect("loop").waits_for_interrupt().prints("caught").replies();
    std::string text;
    std::thread caller([&] { text = run("loop"); });
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    REQUIRE((*this)->interrupt());
    caller.join();
    CHECK(text == "caught");
}

TEST_CASE_METHOD(scripted_box, "session: destroyed while somebody waits", "[tsan]") {
    for (int i = 0; i < 10; ++i) {
        script().forget();
        script().expect("loop").prints("x").waits_for_interrupt();
        adapt([](executor_options&) {});
        std::string text;
        std::thread caller([&] { text = run("loop"); });
        CHECK(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
        auto waiting = begin("waits");
        drop();
        caller.join();
        CHECK(text == not_running);
        CHECK(said(got(std::move(waiting))) == not_running);
    }
}

TEST_CASE_METHOD(scripted_box, "session: everything from everywhere at once", "[tsan]") {
    // Only that every call comes back is certain.
    adapt([](executor_options& o) { o.kernel.interrupt_grace = 20ms; });
    for (int i = 0; i < 400; ++i) script().expect("a").prints("x").replies();
    std::atomic<int> back = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                if (t == 0)
                    (void)(*this)->reset();
                else if (t == 1)
                    (*this)->cancel();
                else if (t == 2)
                    (void)(*this)->interrupt();
                else if (t == 3)
                    (void)(*this)->stream("a");
                else
                    (void)run("a");
                ++back;
            }
        });
    for (auto& t : threads) t.join();
    CHECK(back == 120);
    CHECK((*this)->reset());
    CHECK(run("a") == "x");
}

TEST_CASE_METHOD(scripted_box, "stream: read on one thread while the executor goes on another", "[tsan]") {
    auto& flood = script().expect("flood");
    for (int i = 0; i < 2000; ++i) flood.prints("line\n").prints("-", "stderr");
    flood.replies();
    auto stream = (*this)->stream("flood");
    std::size_t bytes = 0;
    bool ended = false;
    std::thread reader([&] {
        while (auto const e = stream.next()) {
            if (auto const* chunk = std::get_if<output_chunk>(&*e))
                bytes += chunk->text.size();
            else
                ended = true;
        }
    });
    reader.join();
    CHECK(bytes == 2000 * 6);
    CHECK(ended);
}

TEST_CASE_METHOD(scripted_box, "stream: the executor goes while somebody reads", "[tsan]") {
    script().expect("loop").prints("x").waits_for_interrupt();
    auto stream = (*this)->stream("loop");
    std::string text;
    std::thread reader([&] {
        while (auto const e = stream.next()) {
            if (auto const* chunk = std::get_if<output_chunk>(&*e))
                text += chunk->text;
            else if (auto const* last = std::get_if<result<execution_result>>(&*e))
                text += said(*last);
        }
    });
    REQUIRE(eventually([&] { return (*this)->state() == executor::kernel_state::busy; }));
    drop();
    reader.join();
    CHECK((text == "x" + not_running || text == not_running));
}
