#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/deny_approval.hpp>

#include <support/catch.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using ipybox::any_approval;
using ipybox::approval_request;
using ipybox::approval_subject;
using ipybox::decision;
using nlohmann::json;

approval_request a_request() {
    return approval_request(approval_subject{
        .id = 1,
        .server = "s",
        .tool = "t",
        .arguments = std::make_shared<nlohmann::ordered_json const>(nlohmann::ordered_json{{"a", 1}})});
}

/// Starts `decide` in an io_context and waits for its end.
template <class Policy>
std::optional<decision> decide_with(Policy& policy, std::function<void(asio::io_context&)> const& meanwhile = {}) {
    asio::io_context context;
    std::optional<decision> made;
    auto done = [&made](std::exception_ptr thrown, std::optional<decision> d) {
        if (!thrown) made = std::move(d);
    };
    auto whole = [](Policy& p) -> awaitable<std::optional<decision>> {
        auto pending = ipybox::detail::decide(p, a_request());
        std::optional<decision> d = co_await std::move(pending);
        co_return d;
    };
    asio::co_spawn(context, whole(policy), done);
    if (meanwhile) meanwhile(context);
    context.run_for(10s);
    return made;
}

template <class T>
decision decide_any(T&& approval) {
    any_approval policy(std::forward<T>(approval));
    auto made = decide_with(policy);
    REQUIRE(made);
    return *made;
}

struct switched {
    bool on;
    decision decide(approval_request const&) const { return on ? decision::accept() : decision::reject("off"); }
};

/// Lets `inner` decide, then has the last word.
struct veto {
    any_approval inner;
    awaitable<decision> decide(approval_request request) {
        auto pending = inner.decide(request);
        auto made = co_await std::move(pending);
        if (made.accepted()) co_return decision::reject("veto");
        co_return made;
    }
};

struct foreign_bool {
    bool yes;
};

decision free_function(approval_request request) {
    return request.tool() == "t" ? decision::accept() : decision::reject();
}

} // namespace

template <>
struct ipybox::approval_traits<foreign_bool> {
    static decision decide(foreign_bool& f, approval_request const&) {
        return f.yes ? decision::accept() : decision::reject("foreign");
    }
};

TEST_CASE("decide: the models") {
    ipybox::auto_approval yes;
    ipybox::deny_approval no;
    CHECK(decide_with(yes)->accepted());
    CHECK_FALSE(decide_with(no)->accepted());
    CHECK(decide_any(yes).accepted());
    CHECK_FALSE(decide_any(no).accepted());
}

TEST_CASE("decide: without a policy everything is rejected") {
    any_approval none;
    CHECK_FALSE(none);
    auto const made = decide_with(none);
    REQUIRE(made);
    CHECK_FALSE(made->accepted());
    CHECK(made->reason() ==
          "this application has no approval policy: give its executor one, or answer the requests in stream()");
    std::function<void(approval_request)> empty;
    CHECK_FALSE(decide_any(empty).accepted());
}

TEST_CASE("decide: policies, callbacks in three shapes, foreign types") {
    CHECK(decide_any(switched{true}).accepted());
    CHECK(decide_any(switched{false}).reason() == "off");
    CHECK(decide_any(foreign_bool{true}).accepted());
    CHECK(decide_any(foreign_bool{false}).reason() == "foreign");
    CHECK(decide_any(free_function).accepted());

    CHECK(decide_any([](approval_request const&) { return decision::accept(); }).accepted());
    CHECK(decide_any([](approval_request) { return decision::reject("by value"); }).reason() == "by value");
    CHECK(decide_any([](approval_request request) { request.accept(); }).accepted());
    CHECK(decide_any([](approval_request const& request) { request.reject("now"); }).reason() == "now");
    CHECK(decide_any([](auto const& request) -> awaitable<decision> {
              co_return request.id() == 1 ? decision::accept() : decision::reject();
          }).accepted());
    CHECK(decide_any([](approval_request) -> awaitable<decision> {
              auto here = co_await asio::this_coro::executor;
              co_await asio::post(here, asio::use_awaitable);
              co_return decision::reject("later");
          }).reason() == "later");
    CHECK(decide_any([owned = std::make_unique<int>(1)](approval_request const&) {
              return *owned == 1 ? decision::accept() : decision::reject();
          }).accepted());
    CHECK(decide_any(ipybox::callback_approval{[](approval_request const& request) { request.accept(); }}).accepted());
}

TEST_CASE("decide: as an application writes it") {
    auto ask = [](approval_request request) {
        std::string answer = "y";
        answer == "y" ? request.accept() : request.reject();
    };
    CHECK(decide_any(ask).accepted());
}

TEST_CASE("decide: edited arguments arrive, in each shape") {
    json const edited{{"a", 2}};
    CHECK(*decide_any([&](approval_request const&) { return decision::accept(edited); }).edited_arguments() == edited);
    CHECK(*decide_any([&](approval_request request) { request.accept(edited); }).edited_arguments() == edited);
    CHECK(*decide_any([&](approval_request) -> awaitable<decision> {
               co_return decision::accept(edited);
           }).edited_arguments() == edited);
}

TEST_CASE("decide: an exception rejects with its text, in each shape") {
    auto const text = "the approval policy failed: no dialog";
    CHECK(decide_any([](approval_request) -> decision { throw std::runtime_error("no dialog"); }).reason() == text);
    CHECK(decide_any([](approval_request) -> void { throw std::runtime_error("no dialog"); }).reason() == text);
    CHECK(decide_any([](approval_request) -> awaitable<decision> {
              throw std::runtime_error("no dialog");
              co_return decision::accept();
          }).reason() == text);
    CHECK(decide_any([](approval_request) -> decision { throw 1; }).reason() ==
          "the approval policy failed: an exception of unknown type");
}

TEST_CASE("decide: what was answered before the exception counts") {
    CHECK(decide_any([](approval_request request) {
              request.accept();
              throw std::runtime_error("late");
          }).accepted());
}

TEST_CASE("decide: a request that is dropped is rejected") {
    CHECK(decide_any([](approval_request) {}).reason() == "the approval request was dropped without an answer");
    CHECK(decide_any([](approval_request const&) {}).reason() == "the approval request was dropped without an answer");
    ipybox::callback_approval plain{[](approval_request const&) {}};
    CHECK(decide_with(plain)->reason() == "the approval request was dropped without an answer");
}

TEST_CASE("decide: a policy that returns its decision may drop the request") {
    CHECK(decide_any([](approval_request request) {
              auto const gone = std::move(request);
              return decision::accept();
          }).accepted());
    CHECK(decide_any([](approval_request request) -> awaitable<decision> {
              { auto const gone = std::move(request); }
              co_return decision::accept();
          }).accepted());
}

TEST_CASE("decide: a kept request is answered later from another thread", "[tsan]") {
    std::optional<approval_request> kept;
    std::thread later;
    any_approval policy([&](approval_request request) {
        later = std::thread([request = std::move(request)] {
            std::this_thread::sleep_for(5ms);
            request.accept(json{{"a", 3}});
        });
    });
    auto const made = decide_with(policy);
    later.join();
    REQUIRE(made);
    REQUIRE(made->edited_arguments());
    CHECK(*made->edited_arguments() == nlohmann::ordered_json{{"a", 3}});
}

TEST_CASE("decide: many at once, answered and dropped by several threads", "[tsan]") {
    asio::io_context context;
    std::mutex mutex;
    std::vector<approval_request> waiting;
    any_approval policy([&](approval_request request) {
        std::lock_guard const lock(mutex);
        waiting.push_back(std::move(request));
    });
    int accepted = 0;
    int rejected = 0;
    auto one = [&]() -> awaitable<void> {
        auto pending = policy.decide(a_request());
        auto made = co_await std::move(pending);
        ++(made.accepted() ? accepted : rejected);
    };
    auto ignore = [](std::exception_ptr) {};
    for (int i = 0; i < 100; ++i) asio::co_spawn(context, one(), ignore);
    std::vector<std::thread> answering;
    for (int i = 0; i < 2; ++i) {
        answering.emplace_back([&] {
            for (int answered = 0; answered < 50;) {
                std::unique_lock lock(mutex);
                if (waiting.empty()) {
                    lock.unlock();
                    std::this_thread::yield();
                    continue;
                }
                auto request = std::move(waiting.back());
                waiting.pop_back();
                lock.unlock();
                if (answered++ % 2) request.accept();
            }
        });
    }
    context.run_for(10s);
    for (auto& thread : answering) thread.join();
    CHECK(accepted == 50);
    CHECK(rejected == 50);
}

TEST_CASE("decide: cancelling rejects and ends the wait, and who answers later is told") {
    asio::io_context context;
    asio::cancellation_signal cancel;
    std::optional<approval_request> kept;
    any_approval policy([&](approval_request request) { kept = std::move(request); });
    bool done = false;
    bool accepted = true;
    auto whole = [&]() -> awaitable<void> {
        auto pending = policy.decide(a_request());
        auto made = co_await std::move(pending);
        accepted = made.accepted();
    };
    auto finish = [&](std::exception_ptr) { done = true; };
    asio::co_spawn(context, whole(), asio::bind_cancellation_slot(cancel.slot(), finish));
    context.poll();
    REQUIRE(kept);
    CHECK_FALSE(done);
    cancel.emit(asio::cancellation_type::terminal);
    context.run_for(10s);
    CHECK(done);
    CHECK_FALSE(accepted);
    CHECK_FALSE(kept->accept());
}

TEST_CASE("decide: a policy around another has the last word") {
    CHECK(decide_any(veto{ipybox::auto_approval{}}).reason() == "veto");
    CHECK(decide_any(veto{[](approval_request request) { request.accept(); }}).reason() == "veto");
    CHECK(decide_any(veto{[](approval_request request) { request.reject("inner"); }}).reason() == "inner");
    CHECK(decide_any(veto{[](approval_request) {}}).reason() == "the approval request was dropped without an answer");
}

TEST_CASE("any_approval: one that was moved from decides as before, one without a policy rejects") {
    struct counts {
        std::vector<int> rejections;
        decision decide(approval_request const&) {
            return decision::reject(std::to_string(rejections.emplace_back(1)));
        }
    };
    any_approval policy = counts();
    auto const moved = std::move(policy);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    CHECK(policy.decide_now(a_request()).reason() == moved.decide_now(a_request()).reason());
    CHECK_FALSE(any_approval().decide_now(a_request()).accepted());
}

TEST_CASE("any_approval: copies share the policy, which lives while it decides") {
    asio::io_context context;
    std::optional<approval_request> kept;
    auto policy = std::make_optional<any_approval>(
        [&, guard = std::make_shared<int>(1)](approval_request request) -> awaitable<decision> {
            auto here = co_await asio::this_coro::executor;
            kept = request;
            co_await asio::post(here, asio::use_awaitable);
            co_return *guard == 1 ? decision::accept() : decision::reject();
        });
    auto copy = policy;
    CHECK(*copy);
    auto pending = policy->decide(a_request());
    policy.reset();
    copy.reset();
    bool accepted = false;
    auto whole = [&]() -> awaitable<void> {
        auto made = co_await std::move(pending);
        accepted = made.accepted();
    };
    auto ignore = [](std::exception_ptr) {};
    asio::co_spawn(context, whole(), ignore);
    context.run_for(10s);
    CHECK(accepted);
}
