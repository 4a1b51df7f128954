#pragma once

#include <ipybox/approval/approval_policy.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// Resumes a coroutine when the answer is there, on the coroutine's executor. Cancelling it rejects the request.
struct await_answer {
    template <class Handler>
    void operator()(Handler handler, std::shared_ptr<approval_answer> answer) const {
        auto const executor = asio::get_associated_executor(handler);
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            auto cancel = [answer](asio::cancellation_type) {
                answer->decide(decision::reject("the approval was cancelled"));
            };
            slot.assign(std::move(cancel));
        }
        // std::function wants to copy.
        auto const resume = std::make_shared<Handler>(std::move(handler));
        auto const gate = std::make_shared<std::mutex>();
        answer->on_decided([executor, slot, resume, gate](decision made) {
            // A resumed program may end its context at once: not before this thread is through with it.
            std::lock_guard const posting(*gate);
            asio::post(executor, [slot, resume, gate, made = std::move(made)]() mutable {
                { std::lock_guard const posted(*gate); }
                if (slot.is_connected()) slot.clear();
                auto handler_now = std::move(*resume);
                handler_now(std::move(made));
            });
        });
    }
};

IPYBOX_DECL asio::awaitable<decision> decide_by(approval_reply (*ask)(void*, approval_request&&),
                                                std::shared_ptr<void> policy, approval_request request) {
    if (!policy) co_return decision::reject("this application has no approval policy");

    // Kept while the policy is at work, as it may drop its own before what it returns or throws has arrived here.
    std::optional<approval_request> kept(approval_request(request.subject()));
    auto const answer = kept->pending_answer();
    std::optional<std::string> thrown;
    try {
        auto given = *kept;
        auto reply = ask(policy.get(), std::move(given));
        if (auto* later = std::get_if<asio::awaitable<decision>>(&reply)) {
            auto made = co_await std::move(*later);
            kept->answer(std::move(made));
        } else if (auto* now = std::get_if<decision>(&reply)) {
            kept->answer(std::move(*now));
        }
    } catch (std::exception const& e) { thrown = e.what(); } catch (...) {
        thrown = "an exception of unknown type";
    }
    if (thrown) kept->reject("the approval policy failed: " + *thrown);
    kept.reset();
    if (auto settled = answer->decided()) co_return *std::move(settled);
    auto pending = asio::async_initiate<asio::use_awaitable_t<> const, void(decision)>(await_answer{},
                                                                                       asio::use_awaitable, answer);
    co_return co_await std::move(pending);
}

} // namespace ipybox::detail
