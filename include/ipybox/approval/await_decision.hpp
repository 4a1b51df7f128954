#pragma once

#include <ipybox/approval/decision_state.hpp>
#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/completion.hpp>

#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Waits for the decision. If the coroutine is cancelled meanwhile, `cancelled` is called, and has to decide.
 * \details The coroutine belongs to its own context, not to the request: a decision that comes when that context is
 * gone resumes nothing.
 */
[[nodiscard]] inline asio::awaitable<decision> await_decision(std::shared_ptr<decision_state> state,
                                                              std::function<void()> cancelled) {
    auto const cancellation = co_await asio::this_coro::cancellation_state;
    auto const wait = [&state, &cancelled](completion<decision> done) {
        if (auto slot = done.slot(); slot.is_connected())
            slot.assign([cancelled](asio::cancellation_type) { cancelled(); });
        // std::function wants to copy.
        auto const resume = std::make_shared<completion<decision>>(std::move(done));
        state->on_decided([resume](decision const& made) { (*resume)(made); });
    };
    auto made = co_await await_completion<decision>(wait);
    if (auto slot = cancellation.slot(); slot.is_connected()) slot.clear();
    co_return made;
}

} // namespace ipybox::detail
