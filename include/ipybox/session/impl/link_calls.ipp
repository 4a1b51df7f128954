#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/kernel_manager.hpp>
#include <ipybox/session/link_calls.hpp>
#include <ipybox/session/run_context.hpp>

#include <exception>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL link_calls::link_calls(std::shared_ptr<run_context> context)
    : context_(std::move(context)), serial_(++context_->executions) {}

/// In one coroutine, so that a call that completes at once is heard of before what it brings about. Nothing in it
/// throws that is not heard of.
template <class Call>
asio::awaitable<void> hear_of(std::shared_ptr<run_context> context, Call call, occurrence::link_called event) {
    try {
        event.outcome = co_await call(*context->kernel->link());
    } catch (...) { event.outcome = failure(error_of(std::current_exception())); }
    context->inbox.push(std::move(event));
}

template <class Call>
void link_calls::begin(Call call, bool answers) {
    ++under_way_;
    spawn(context_->executor,
          hear_of(context_, std::move(call), occurrence::link_called{serial_, result<void>(), answers}));
}

IPYBOX_DECL void link_calls::send(jupyter::message m, bool answers) {
    begin([m = std::move(m)](kernel_link& link) mutable { return link.send(std::move(m)); }, answers);
}

IPYBOX_DECL void link_calls::interrupt() {
    begin([](kernel_link& link) { return link.interrupt(); }, false);
}

IPYBOX_DECL void link_calls::ask_to_end() {
    begin([](kernel_link& link) { return link.ask_to_end(); }, false);
}

IPYBOX_DECL bool link_calls::take(occurrence::link_called const& c) noexcept {
    if (c.serial != serial_) return false; // of an execution that did not wait for it
    --under_way_;
    return true;
}

} // namespace ipybox::detail
