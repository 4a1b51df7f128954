#include <ipybox/async/completion.hpp>
#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/executor_lender.hpp>

#include <support/catch.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/system_executor.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace {

using namespace ipybox::detail;

/// Knows when its executor is lent.
class watched_lender final : public executor_lender {
  public:
    explicit watched_lender(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    void with_executor(borrower const& use) const override {
        ++times;
        lends = true;
        use(executor_);
        lends = false;
    }

    mutable int times = 0;
    mutable bool lends = false;

  private:
    asio::any_io_executor executor_;
};

/// A handler that counts what is done with it while an executor is lent.
class watching_handler {
  public:
    using executor_type = asio::any_io_executor;

    watching_handler(watched_lender const& lender, int& disturbed, int& called)
        : lender_(&lender), disturbed_(&disturbed), called_(&called) {}
    watching_handler(watching_handler const& other) noexcept = default;
    watching_handler& operator=(watching_handler const&) = delete;
    ~watching_handler() { look(); }

    /// None of its own.
    [[nodiscard]] executor_type get_executor() const noexcept {
        look();
        return {};
    }
    void operator()(int) const { ++*called_; }

  private:
    void look() const {
        if (lender_->lends) ++*disturbed_;
    }

    watched_lender const* lender_;
    int* disturbed_;
    int* called_;
};

} // namespace

TEST_CASE("executor_lender: a completion runs on the executor that is lent, or on its handler's own") {
    asio::io_context lent;
    asio::io_context own;
    watched_lender const lender(lent.get_executor());
    int got = 0;
    completion<int> first([&got](int v) { got += v; }, lender);
    CHECK(lender.times == 1);
    first(1);
    CHECK(lent.run() == 1); // at work until then
    CHECK(got == 1);

    completion<int> second(asio::bind_executor(own, [&got](int v) { got += v; }), lender);
    CHECK(lender.times == 1);
    second(2);
    lent.restart();
    CHECK(lent.poll() == 0);
    CHECK(own.run() == 1);
    CHECK(got == 3);
}

TEST_CASE("executor_lender: nothing of a handler runs or ends while an executor is lent") {
    int disturbed = 0;
    int called = 0;
    {
        asio::io_context context;
        watched_lender const lender(context.get_executor());
        completion<int> done(watching_handler(lender, disturbed, called), lender);
        done(1);
        context.run();
    }
    CHECK(called == 1);
    CHECK(disturbed == 0);

    // A context that goes has ended its completions, but can be lent by who has not heard of it yet.
    struct at_end {
        std::function<void()> call;
        explicit at_end(std::function<void()> c) : call(std::move(c)) {}
        at_end(at_end&& other) noexcept : call(std::exchange(other.call, nullptr)) {}
        at_end(at_end const&) = delete;
        at_end& operator=(at_end&&) = delete;
        at_end& operator=(at_end const&) = delete;
        ~at_end() {
            if (call) call();
        }
        void operator()(int) const {}
    };
    int ended = 0;
    {
        auto context = std::make_unique<asio::io_context>();
        watched_lender const lender(context->get_executor());
        auto const late = [&] {
            completion<int> done(watching_handler(lender, disturbed, called), lender);
            done(1);
            ++ended;
        };
        auto const waiting = std::make_shared<completion<int>>(at_end(late), context->get_executor());
        asio::post(*context, [waiting] {});
        context.reset();
    }
    CHECK(ended == 1);
    CHECK(called == 1);
    CHECK(disturbed == 0);
}

TEST_CASE("context_bound_executor: let go of in one thread while its context goes in another", "[tsan]") {
    for (int round = 0; round < 200; ++round) {
        auto context = std::make_unique<asio::io_context>();
        auto bound = std::make_unique<context_bound_executor>(asio::make_strand(*context));
        std::atomic<int> there = 0;
        std::thread other([&] {
            ++there;
            while (there < 2) {}
            bound.reset();
        });
        ++there;
        while (there < 2) {}
        context.reset();
        other.join();
    }
}
