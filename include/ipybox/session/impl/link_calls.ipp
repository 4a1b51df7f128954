#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/session/kernel_manager.hpp>
#include <ipybox/session/link_calls.hpp>
#include <ipybox/session/run_context.hpp>

#include <exception>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL link_calls::link_calls(std::shared_ptr<run_context> context)
    : context_(std::move(context)), serial_(++context_->executions) {}

template <class Call>
void link_calls::begin(Call call, bool answers) {
    ++under_way_;
    // In one coroutine, so that a call that completes at once is heard of before what it brings about.
    auto const work = [](std::shared_ptr<run_context> context, Call asked,
                         occurrence::link_called event) -> asio::awaitable<void> {
        try {
            event.outcome = co_await asked(context->kernel->link());
        } catch (...) { event.outcome = failure(error_of(std::current_exception())); }
        context->inbox.push(std::move(event));
    };
    occurrence::link_called event{serial_, result<void>(), answers};
    spawn(context_->executor,
          work(context_, std::move(call), std::move(event))); // nothing in it throws that is not heard of
}

inline auto sending(jupyter::message m) {
    auto shared = std::make_shared<jupyter::message>(std::move(m));
    return [shared](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> {
        return link->send(std::move(*shared));
    };
}

IPYBOX_DECL void link_calls::send(jupyter::message m) { begin(sending(std::move(m)), false); }

IPYBOX_DECL void link_calls::send_answer(jupyter::message m) { begin(sending(std::move(m)), true); }

IPYBOX_DECL void link_calls::interrupt() {
    begin([](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> { return link->interrupt(); }, false);
}

IPYBOX_DECL void link_calls::ask_to_end() {
    begin([](std::shared_ptr<kernel_link> link) { return kernel_manager::ask_to_end(std::move(link)); }, false);
}

IPYBOX_DECL bool link_calls::take(occurrence::link_called const& c) noexcept {
    if (c.serial != serial_) return false; // of an execution that did not wait for it
    --under_way_;
    return true;
}

} // namespace ipybox::detail
