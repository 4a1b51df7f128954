#include <ipybox/async/completion.hpp>
#include <ipybox/async/untyped_completion.hpp>

#include <support/catch.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace ipybox::detail;

/// A lender whose context has gone.
class lender_of_nothing final : public executor_lender {
  public:
    void with_executor(borrower const&) const override {}
};

/// A value that cannot be moved a second time.
class hard_value {
  public:
    hard_value() = default;
    hard_value(hard_value&& other) : moves_(other.moves_ + 1) {
        if (moves_ > 1) throw std::runtime_error("moved twice");
    }
    hard_value(hard_value const&) = delete;
    hard_value& operator=(hard_value&&) = delete;
    hard_value& operator=(hard_value const&) = delete;
    ~hard_value() = default;

  private:
    int moves_ = 0;
};

} // namespace

TEST_CASE("completion: an exception of the handler leaves run, and nothing stays behind") {
    asio::io_context context;
    auto const token = std::make_shared<int>();
    completion<int> done([token](int) { throw std::runtime_error("thrown"); }, context.get_executor());
    done(1);
    CHECK_THROWS_WITH(context.run(), "thrown");
    CHECK(token.use_count() == 1);
    CHECK(context.run() == 0);
    CHECK(context.stopped());
}

TEST_CASE("completion: a value that cannot be delivered leaves the handler to its context") {
    auto const token = std::make_shared<int>();
    bool called = false;
    {
        asio::io_context context;
        completion<hard_value> done([token, &called](hard_value const&) { called = true; }, context.get_executor());
        hard_value value;
        CHECK_THROWS_WITH(done(std::move(value)), "moved twice");
        CHECK_FALSE(done);
        CHECK(context.poll() == 0);
        CHECK(token.use_count() == 2);
    }
    CHECK(token.use_count() == 1);
    CHECK_FALSE(called);
}

TEST_CASE("completion: the context of a lender is gone, and so is the handler") {
    auto const token = std::make_shared<int>();
    bool called = false;
    completion<int> done([token, &called](int) { called = true; }, lender_of_nothing());
    CHECK(done);
    CHECK(token.use_count() == 1);
    done(1);
    CHECK_FALSE(done);
    CHECK_FALSE(called);
    completion<int> const dropped([](int) {}, lender_of_nothing());
    CHECK_FALSE(dropped.slot().is_connected());
}

TEST_CASE("completion: a handler with an executor of its own needs no lender") {
    asio::io_context context;
    int got = 0;
    completion<int> done(asio::bind_executor(context.get_executor(), [&got](int v) { got = v; }), lender_of_nothing());
    done(5);
    context.run();
    CHECK(got == 5);
}

TEST_CASE("completion: the value is destroyed with the context when the handler has not run") {
    auto token = std::make_shared<int>();
    std::weak_ptr<int> const weak = token;
    {
        asio::io_context context;
        completion<std::shared_ptr<int>> done([](std::shared_ptr<int> const&) {}, context.get_executor());
        done(std::move(token));
        CHECK_FALSE(weak.expired());
    }
    CHECK(weak.expired());
}

TEST_CASE("completion: an assignment drops the one that was there") {
    asio::io_context context;
    auto const first = std::make_shared<int>();
    std::string got;
    completion<int> done([first](int) {}, context.get_executor());
    done = completion<int>([&got](int v) { got += std::to_string(v); }, context.get_executor());
    CHECK(context.poll() == 1);
    CHECK(first.use_count() == 1);
    done(2);
    context.run();
    CHECK(got == "2");
}

TEST_CASE("completion: in place, dropped and called") {
    auto const token = std::make_shared<int>();
    std::thread::id where;
    completion<int> done(called_in_place{[token, &where](int) { where = std::this_thread::get_id(); }});
    CHECK_FALSE(done.slot().is_connected());
    done(1);
    CHECK(where == std::this_thread::get_id());
    CHECK(token.use_count() == 1);
    done = completion<int>(called_in_place{[token](int) { throw std::runtime_error("thrown"); }});
    CHECK(token.use_count() == 2);
    CHECK_THROWS_WITH(done(1), "thrown");
    CHECK(token.use_count() == 1);
    done = completion<int>(called_in_place{[token](int) {}});
    done = {};
    CHECK(token.use_count() == 1);
}

TEST_CASE("completion: it may lose its type on the way") {
    asio::io_context context;
    std::string got;
    untyped_completion untyped = completion<std::string>([&got](std::string v) { got = v; }, context.get_executor());
    CHECK(untyped);
    completion<std::string> typed(std::move(untyped));
    typed("value");
    context.run();
    CHECK(got == "value");
}
