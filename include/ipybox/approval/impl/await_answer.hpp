#pragma once

#include <ipybox/approval/approval_answer.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace ipybox::detail {

/// Resumes a coroutine when the answer is there, on the coroutine's executor. `cancelled` has to answer.
struct resume_with_answer {
    template <class Handler>
    void operator()(Handler handler, std::shared_ptr<approval_answer> answer, std::function<void()> cancelled) const {
        auto const executor = asio::get_associated_executor(handler);
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            auto cancel = [cancelled = std::move(cancelled)](asio::cancellation_type) { cancelled(); };
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

/// Waits for the answer. Where the coroutine is cancelled meanwhile, `cancelled` is called, and has to answer.
[[nodiscard]] inline asio::awaitable<decision> await_answer(std::shared_ptr<approval_answer> answer,
                                                            std::function<void()> cancelled) {
    auto pending = asio::async_initiate<asio::use_awaitable_t<> const, void(decision)>(
        resume_with_answer{}, asio::use_awaitable, std::move(answer), std::move(cancelled));
    co_return co_await std::move(pending);
}

} // namespace ipybox::detail
