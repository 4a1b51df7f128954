#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/completion.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>

#include <asio/bind_executor.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox::detail;

/// Counts the frames of coroutines that are there.
struct counted {
    explicit counted(std::atomic<int>& c) : count(&c) { ++*count; }
    counted(counted&& other) noexcept : count(std::exchange(other.count, nullptr)) {}
    counted(counted const&) = delete;
    counted& operator=(counted const&) = delete;
    counted& operator=(counted&&) = delete;
    ~counted() {
        if (count) --*count;
    }
    std::atomic<int>* count;
};

/// Where completions wait, as the client of a process does it.
struct elsewhere {
    std::mutex mutex;
    std::vector<completion<int>> waiting;

    void add(completion<int> done) {
        std::scoped_lock const lock(mutex);
        waiting.push_back(std::move(done));
    }
    void complete_all() {
        std::vector<completion<int>> taken;
        {
            std::scoped_lock const lock(mutex);
            taken = std::exchange(waiting, {});
        }
        for (auto& done : taken) done(1);
    }
    [[nodiscard]] std::size_t count() {
        std::scoped_lock const lock(mutex);
        return waiting.size();
    }
};

/// A coroutine that waits, with a timer and a strand in its frame, and with the one that it waits for.
asio::awaitable<void> wait_elsewhere(std::shared_ptr<elsewhere> place, std::atomic<int>& frames,
                                     std::atomic<int>& resumed) {
    counted const frame(frames);
    auto const executor = co_await asio::this_coro::executor;
    asio::steady_timer const timer(executor);
    auto const begin = [place](completion<int> done) { place->add(std::move(done)); };
    (void)co_await await_completion<int>(begin);
    ++resumed;
}

} // namespace

TEST_CASE("completion: a context that goes takes along what waits for it elsewhere") {
    std::atomic<int> frames = 0;
    std::atomic<int> resumed = 0;
    auto const place = std::make_shared<elsewhere>();
    {
        asio::io_context context;
        auto const strand = asio::make_strand(context);
        for (int i = 0; i < 3; ++i) asio::co_spawn(strand, wait_elsewhere(place, frames, resumed), asio::detached);
        context.poll();
        REQUIRE(place->count() == 3);
        CHECK(frames == 3);
    }
    CHECK(frames == 0);
    place->complete_all(); // nothing is posted anywhere
    CHECK(resumed == 0);
}

TEST_CASE("completion: completed, and its context goes before it is run") {
    std::atomic<int> frames = 0;
    std::atomic<int> resumed = 0;
    auto const place = std::make_shared<elsewhere>();
    {
        asio::io_context context;
        asio::co_spawn(asio::make_strand(context), wait_elsewhere(place, frames, resumed), asio::detached);
        context.poll();
        place->complete_all();
    }
    CHECK(frames == 0);
    CHECK(resumed == 0);
}

TEST_CASE("completion: dropped, and its context goes before it is run, or has gone") {
    for (bool const before : {true, false}) {
        std::atomic<int> frames = 0;
        std::atomic<int> resumed = 0;
        auto place = std::make_shared<elsewhere>();
        {
            asio::io_context context;
            asio::co_spawn(asio::make_strand(context), wait_elsewhere(place, frames, resumed), asio::detached);
            context.poll();
            if (before) place->waiting.clear();
        }
        CHECK(frames == 0);
        place.reset();
        CHECK(resumed == 0);
    }
}

TEST_CASE("completion: what waits keeps itself alive, until its context goes") {
    std::atomic<int> frames = 0;
    std::atomic<int> resumed = 0;
    std::weak_ptr<elsewhere> weak;
    {
        asio::io_context context;
        auto place = std::make_shared<elsewhere>();
        weak = place;
        asio::co_spawn(context, wait_elsewhere(std::move(place), frames, resumed), asio::detached);
        context.poll();
        CHECK_FALSE(weak.expired());
    }
    CHECK(weak.expired());
    CHECK(frames == 0);
}

TEST_CASE("completion: destroying one may destroy others, complete others and begin others") {
    struct chain {
        std::shared_ptr<elsewhere> place;
        asio::any_io_executor executor;
        chain(std::shared_ptr<elsewhere> p, asio::any_io_executor e) : place(std::move(p)), executor(std::move(e)) {}
        chain(chain&&) noexcept = default;
        chain(chain const&) = delete;
        chain& operator=(chain&&) = delete;
        chain& operator=(chain const&) = delete;
        ~chain() {
            if (!place) return;
            place->complete_all();
            completion<int> const late([](int) {}, executor);
        }
        void operator()(int) const {}
    };
    auto const place = std::make_shared<elsewhere>();
    {
        asio::io_context context;
        auto const strand = asio::make_strand(context);
        for (int i = 0; i < 5; ++i)
            place->add(completion<int>(asio::bind_executor(strand, chain(place, strand)), context.get_executor()));
        asio::steady_timer const newer(strand); // services of the context end in the reverse order of their use
    }
    CHECK(place->count() == 0);
}

TEST_CASE("completion: dropped or completed by what a strand destroys when its context goes") {
    // Strands destroy at once what they are given after their end, while a completion is being posted.
    auto const place = std::make_shared<elsewhere>();
    std::atomic<int> frames = 0;
    struct at_end {
        std::shared_ptr<elsewhere> place;
        bool completes;
        at_end(std::shared_ptr<elsewhere> p, bool c) : place(std::move(p)), completes(c) {}
        at_end(at_end&&) noexcept = default;
        at_end(at_end const&) = delete;
        at_end& operator=(at_end&&) = delete;
        at_end& operator=(at_end const&) = delete;
        ~at_end() {
            if (!place) return;
            if (completes) place->complete_all();
            std::scoped_lock const lock(place->mutex);
            place->waiting.clear();
        }
        void operator()() const {}
    };
    for (bool const completes : {true, false}) {
        {
            asio::io_context context;
            completion<int> const first([](int) {}, context.get_executor()); // its service is older than the strand's
            auto const strand = asio::make_strand(context);
            auto held = std::make_shared<counted>(frames);
            auto handler = [held = std::move(held), strand](int) {};
            place->add(completion<int>(asio::bind_executor(strand, std::move(handler)), context.get_executor()));
            asio::post(strand, at_end(place, completes));
        }
        CHECK(place->count() == 0);
        CHECK(frames == 0);
    }
}

TEST_CASE("completion: of a future and in place need no context") {
    std::future<int> value;
    completion<int> promised;
    int got = 0;
    completion<int> placed(called_in_place{[&got](int v) { got = v; }});
    {
        asio::io_context context;
        value = asio::async_initiate<asio::use_future_t<> const, void(int)>(
            [&](auto handler) { promised = completion<int>(std::move(handler), context.get_executor()); },
            asio::use_future);
    }
    promised(3);
    CHECK(value.get() == 3);
    placed(4);
    CHECK(got == 4);
}

TEST_CASE("completion: untracked, its context may run dry") {
    asio::io_context context;
    int got = 0;
    completion<int> done([&got](int v) { got = v; }, context.get_executor(), waiting_work::untracked);
    CHECK(context.run() == 0);
    done(2);
    context.restart();
    CHECK(context.run() == 1);
    CHECK(got == 2);
}

TEST_CASE("completion: contexts go while other threads complete and drop", "[tsan]") {
    std::atomic<int> frames = 0;
    std::atomic<int> resumed = 0;
    for (int round = 0; round < 100; ++round) {
        auto const place = std::make_shared<elsewhere>();
        auto context = std::make_unique<asio::io_context>();
        auto const spawn = [&](auto const& executor) {
            for (int i = 0; i < 8; ++i)
                asio::co_spawn(executor, wait_elsewhere(place, frames, resumed), asio::detached);
        };
        spawn(asio::make_strand(*context));
        spawn(context->get_executor());
        context->poll();
        std::atomic<int> ready = 0;
        std::vector<std::thread> others;
        for (int t = 0; t < 2; ++t)
            others.emplace_back([&, t] {
                ++ready;
                while (ready < 3) {}
                for (;;) {
                    std::optional<completion<int>> one;
                    {
                        std::scoped_lock const lock(place->mutex);
                        if (place->waiting.empty()) return;
                        one.emplace(std::move(place->waiting.back()));
                        place->waiting.pop_back();
                    }
                    if (t == 0) (*one)(1);
                }
            });
        ++ready;
        while (ready < 3) {}
        if (round % 2 == 0) context->poll();
        context.reset();
        for (auto& other : others) other.join();
        REQUIRE(frames == 0);
    }
}

TEST_CASE("completion: a pool goes while other threads complete", "[tsan]") {
    std::atomic<int> frames = 0;
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> resumed = 0;
        auto const place = std::make_shared<elsewhere>();
        auto pool = std::make_unique<asio::thread_pool>(2);
        for (int i = 0; i < 8; ++i)
            asio::co_spawn(asio::make_strand(*pool), wait_elsewhere(place, frames, resumed), asio::detached);
        std::thread other([&] {
            while (place->count() < 1) std::this_thread::yield();
            place->complete_all();
        });
        while (place->count() < 1 && resumed == 0) std::this_thread::yield();
        pool->stop();
        other.join();
        pool.reset();
        REQUIRE(frames == 0);
        place->complete_all();
    }
}
