#include <ipybox/execution_stream.hpp>
#include <ipybox/session/event_queue.hpp>

#include <support/catch.hpp>
#include <support/lent_executor.hpp>

#include <asio/io_context.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace ipybox;
using detail::completion;
using detail::event_queue;

struct read_queue {
    asio::io_context context;
    std::shared_ptr<test::lent_executor const> lent = test::lend(context.get_executor());
    event_queue queue{lent, [] { return result<void>(); }};
    std::string told;

    read_queue() {
        queue.on_reader([this] { told += "room "; }, [this] { told += "left "; });
    }

    void print(std::string text, output_chunk::stream_name stream = output_chunk::stream_name::stdout_) {
        queue.push(output_chunk{stream, std::move(text)});
    }

    /// The next event in words.
    std::string next() {
        std::string said = "(waits)";
        auto const e = queue.try_next();
        if (e) said = words(*e);
        return said;
    }

    static std::string words(event_queue::event const& e) {
        if (!e) return "(none)";
        if (auto const* chunk = std::get_if<output_chunk>(&*e)) return chunk->text;
        if (auto const* shown = std::get_if<display>(&*e)) return "(display " + shown->id + ")";
        if (std::holds_alternative<execution_stream::output_cleared>(*e)) return "(cleared)";
        if (auto const* last = std::get_if<result<execution_result>>(&*e))
            return *last ? "(result " + (*last)->text + ")" : "(" + last->error().text() + ")";
        return "(request)";
    }

    completion<event_queue::event> reader(std::string& into) {
        return {[&into](event_queue::event const& e) { into += words(e); }, context.get_executor()};
    }
};

display shown(std::string id) {
    display d;
    d.id = std::move(id);
    return d;
}

execution_result done(std::string text = "") {
    execution_result r;
    r.text = std::move(text);
    return r;
}

} // namespace

TEST_CASE_METHOD(read_queue, "event_queue: in order, the result last, then none for ever") {
    CHECK(next() == "(waits)");
    print("a");
    queue.push(shown("d"));
    queue.push(execution_stream::output_cleared());
    queue.finish(done("end"));
    print("never");
    queue.finish(done("never"));
    CHECK(next() == "a");
    CHECK(next() == "(display d)");
    CHECK(next() == "(cleared)");
    CHECK(next() == "(result end)");
    CHECK(next() == "(none)");
    CHECK(next() == "(none)");
}

TEST_CASE_METHOD(read_queue, "event_queue: chunks of one stream are joined") {
    print("a");
    print("b");
    print("err", output_chunk::stream_name::stderr_);
    print("c");
    queue.push(shown("d"));
    print("e");
    print("f");
    CHECK(next() == "ab");
    CHECK(next() == "err");
    CHECK(next() == "c");
    CHECK(next() == "(display d)");
    CHECK(next() == "ef");
}

TEST_CASE_METHOD(read_queue, "event_queue: what is joined has a bound") {
    std::string const part(700 * 1024, 'x');
    for (int i = 0; i < 4; ++i) print(part);
    CHECK(next().size() == 2 * part.size());
    CHECK(next().size() == 2 * part.size());
}

TEST_CASE_METHOD(read_queue, "event_queue: a reader that waits gets the next event, not inline") {
    std::string got;
    queue.next(reader(got), 1);
    print("a");
    print("b");
    CHECK(got.empty());
    context.poll();
    CHECK(got == "a");
    CHECK(next() == "b");
    queue.next(reader(got), 1);
    queue.finish(done());
    context.restart();
    context.poll();
    CHECK(got == "a(result )");
    queue.next(reader(got), 1); // behind the end
    context.restart();
    context.poll();
    CHECK(got == "a(result )(none)");
}

TEST_CASE_METHOD(read_queue, "event_queue: full by bytes, with room again when it has been read") {
    CHECK_FALSE(queue.full());
    std::string const part(std::size_t(1) << 20, 'x');
    for (int i = 0; i < 3; ++i) {
        print(part);
        queue.push(shown(""));
        CHECK_FALSE(queue.full());
    }
    print(part);
    queue.push(shown(""));
    print("one more");
    CHECK(queue.full());
    CHECK(told.empty());
    CHECK(next() == part);
    CHECK_FALSE(queue.full());
    CHECK(told == "room ");
    while (next() != "(waits)") {}
    CHECK(told == "room "); // once
}

TEST_CASE_METHOD(read_queue, "event_queue: full by number") {
    for (int i = 0; i < 1024; ++i) queue.push(shown(""));
    CHECK_FALSE(queue.full());
    queue.push(shown(""));
    CHECK(queue.full());
    std::string got;
    queue.next(reader(got), 1); // the waiting way tells it too
    CHECK_FALSE(queue.full());
    CHECK(told == "room ");
}

TEST_CASE_METHOD(read_queue, "event_queue: a reader that waits no longer") {
    std::string got;
    queue.cancel_next(1); // nobody waits
    queue.next(reader(got), 1);
    queue.cancel_next(1);
    queue.cancel_next(1);
    context.poll();
    CHECK(got == "(none)");
    print("is still there");
    CHECK(next() == "is still there");
}

TEST_CASE_METHOD(read_queue, "event_queue: one waits at a time, and the earlier one is told that nothing comes") {
    std::string first;
    std::string second;
    auto const early = queue.next_wait();
    queue.next(reader(first), early);
    auto const later = queue.next_wait();
    queue.next(reader(second), later);
    context.poll();
    CHECK(first == "(none)");
    CHECK(second.empty());
    queue.cancel_next(early); // the signal of the one that has gone
    print("a");
    context.restart();
    context.poll();
    CHECK(first == "(none)");
    CHECK(second == "a");
}

TEST_CASE_METHOD(read_queue, "event_queue: a late signal of one wait does not end the next") {
    std::string got;
    print("first");
    auto const early = queue.next_wait();
    queue.next(reader(got), early);
    auto const later = queue.next_wait();
    queue.next(reader(got), later);
    queue.cancel_next(early);
    context.poll();
    CHECK(got == "first");
    queue.cancel_next(later);
    context.poll();
    CHECK(got == "first(none)");
}

namespace {

/// An executor that runs everything at once, and knows none of the properties by which executors are erased.
struct at_once {
    template <class Function>
    void execute(Function f) const {
        std::move(f)();
    }
    friend bool operator==(at_once const&, at_once const&) noexcept = default;
};

/// A reader whose executor cannot be erased; it asks for the next event as it is called.
struct greedy {
    using executor_type = at_once;
    event_queue* queue;
    std::string* got;
    [[nodiscard]] executor_type get_executor() const noexcept { return {}; }
    void operator()(event_queue::event const& e) const {
        *got += read_queue::words(e) + " ";
        if (e) queue->next({*this, asio::system_executor()}, queue->next_wait());
    }
};

} // namespace

TEST_CASE_METHOD(read_queue, "event_queue: a reader that is called at once may come back") {
    std::string got;
    print("a");
    queue.next({greedy{&queue, &got}, context.get_executor()}, queue.next_wait());
    print("b");
    queue.cancel_next(queue.next_wait());
    queue.finish(done());
    CHECK(got == "a b (result ) (none) ");
}

TEST_CASE_METHOD(read_queue, "event_queue: a reader that leaves is told once, what it left is dropped") {
    print("a");
    queue.leave();
    queue.leave();
    CHECK(told == "left ");
    CHECK_FALSE(queue.full());
    CHECK(next() == "(waits)");
}

TEST_CASE_METHOD(read_queue, "event_queue: leaving behind the end tells nobody") {
    print("a");
    queue.finish(done());
    queue.leave();
    CHECK(told.empty());
}

TEST_CASE_METHOD(read_queue, "event_queue: asked when all has been read and the reader waits") {
    std::string got;
    print("before");
    queue.when_read([&] { told += "read "; });
    CHECK(told.empty());
    CHECK(next() == "before");
    CHECK(told.empty());
    queue.next(reader(got), 1);
    CHECK(told == "read ");
    queue.when_read([&] { told += "at once "; });
    CHECK(told == "read at once ");
    queue.cancel_next(1);

    queue.when_read([&] { told += "never"; });
    queue.finish(done());
    queue.next(reader(got), 1);
    queue.next(reader(got), 1);
    CHECK(told == "read at once ");
}

TEST_CASE_METHOD(read_queue, "event_queue: behind the end handlers run where nobody has to run a context") {
    asio::any_io_executor const its_own = context.get_executor();
    asio::any_io_executor seen;
    auto const look = [&](asio::any_io_executor const& lent_now) { seen = lent_now; };
    queue.with_executor(look);
    CHECK(seen == its_own);
    queue.finish(done());
    queue.with_executor(look);
    CHECK(seen == asio::any_io_executor(asio::system_executor()));
}

TEST_CASE("event_queue: one thread writes, another one reads", "[tsan]") {
    asio::io_context context;
    auto const lent = test::lend(context.get_executor());
    auto const queue = std::make_shared<event_queue>(lent, [] { return result<void>(); });
    std::atomic<int> rooms = 0;
    queue->on_reader([&] { ++rooms; }, [] {});
    std::thread writer([queue] {
        for (int i = 0; i < 5000; ++i) {
            queue->push(
                output_chunk{i % 2 == 0 ? output_chunk::stream_name::stdout_ : output_chunk::stream_name::stderr_,
                             std::to_string(i) + ","});
            (void)queue->full();
        }
        queue->finish(execution_result());
    });
    std::string odd;
    std::string even;
    for (bool ended = false; !ended;) {
        std::promise<event_queue::event> came;
        auto event = came.get_future();
        queue->next({[&came](event_queue::event e) { came.set_value(std::move(e)); }, asio::system_executor()},
                    queue->next_wait());
        auto const e = event.get();
        REQUIRE(e);
        if (auto const* chunk = std::get_if<output_chunk>(&*e))
            (chunk->stream == output_chunk::stream_name::stdout_ ? even : odd) += chunk->text;
        else
            ended = true;
    }
    writer.join();
    std::string expected_odd;
    std::string expected_even;
    for (int i = 0; i < 5000; ++i) (i % 2 == 0 ? expected_even : expected_odd) += std::to_string(i) + ",";
    CHECK((odd == expected_odd));
    CHECK((even == expected_even));
}
