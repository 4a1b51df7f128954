#pragma once

#include <ipybox/async/bounded_completion.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/time_budget.hpp>

namespace ipybox::detail {

IPYBOX_DECL completion_bound::completion_bound(asio::any_io_executor const& executor, std::chrono::milliseconds bound)
    : timer_(executor, clamped(bound)) {}

IPYBOX_DECL void completion_bound::begin(move_only_function<error()> late, std::stop_token unwanted) {
    timer_.async_wait(
        wait_handler([self = shared_from_this(), late = std::move(late)](asio::error_code cancelled) mutable {
            if (!cancelled && !self->answered_) self->fail(late());
        }));
    auto const give_up = [executor = timer_.get_executor(), weak = weak_from_this()] {
        post_work(executor, [weak] {
            if (auto const waiting = weak.lock()) waiting->fail(error(errc::not_running, ""));
        });
    };
    if (unwanted.stop_possible()) unwanted_.emplace(std::move(unwanted), give_up);
}

IPYBOX_DECL bool completion_bound::answer() {
    if (std::exchange(answered_, true)) return false;
    timer_.cancel();
    return true;
}

} // namespace ipybox::detail
