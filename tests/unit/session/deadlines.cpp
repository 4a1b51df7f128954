#include <ipybox/core/base64.hpp>

#include <support/catch.hpp>
#include <support/held_thread.hpp>
#include <support/scripted_box.hpp>

#include <asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <optional>
#include <set>
#include <string>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// An executor on a context that the test runs, handler by handler.
struct stepped_box : scripted_box {
    stepped_box() { on(context.get_executor()); }
    ~stepped_box() {
        drop();
        context.restart();
        context.run_for(10s); // what is left ends
    }

    /// Runs handlers until something is the case.
    template <class Condition>
    bool until(Condition reached) {
        auto const bound = std::chrono::steady_clock::now() + 30s;
        context.restart();
        while (!reached() && std::chrono::steady_clock::now() < bound) context.run_one_for(10ms);
        return reached();
    }

    template <class T>
    T outcome_of(std::future<T>& call) {
        REQUIRE(until([&call] { return call.wait_for(0s) == std::future_status::ready; }));
        return call.get();
    }

    asio::io_context context{1};
};

/// Text that is an image of so many bytes.
std::string image_of(std::size_t bytes) { return base64_encode("\x89PNG\r\n\x1a\n" + std::string(bytes, 'x')); }

/// A thread that was not there before, if there is one.
std::optional<pid_t> new_thread(std::set<pid_t> const& before) {
    for (auto const thread : threads())
        if (!before.contains(thread)) return thread;
    return std::nullopt;
}

} // namespace

TEST_CASE_METHOD(stepped_box, "session: code is interrupted when its time is over, while a large display is saved") {
    script().expect("ready").replies();
    auto ready = begin("ready");
    REQUIRE(outcome_of(ready));
    auto const image = image_of(std::size_t(32) << 20);
    for (bool held = false; !held;) { // a thread may have ended before it could be held
        script().expect("draw").shows({{"image/png", image}}).waits_for_interrupt().raises("KeyboardInterrupt", "");
        auto const before = threads();
        auto const interrupts = script().interrupts();
        auto drawing = begin("draw", {.timeout = 2s});
        std::optional<pid_t> saving;
        REQUIRE(until([&] { return (saving = new_thread(before)).has_value(); }));
        {
            held_thread const save(*saving);
            held = save.holds() && script().interrupts() == interrupts;
            if (held) REQUIRE(until([&] { return script().interrupts() > interrupts; }));
        }
        auto const r = outcome_of(drawing);
        REQUIRE_FALSE(r);
        CHECK(r.error() == errc::timed_out);
        REQUIRE(r.error().output());
        auto const& output = *r.error().output();
        CHECK(output.images.size() + output.files_left_out == 1); // whole, where it was begun in time
        for (auto const& file : output.images) CHECK(std::filesystem::file_size(file) == 8 + (std::size_t(32) << 20));
    }
}
