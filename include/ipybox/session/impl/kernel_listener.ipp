#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/session/kernel_listener.hpp>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL kernel_listener::kernel_listener(asio::any_io_executor executor, std::shared_ptr<kernel_link> link,
                                             std::function<void(jupyter::message)> on_message,
                                             std::function<void(error)> on_end)
    : executor_(std::move(executor)), link_(std::move(link)), on_message_(std::move(on_message)),
      on_end_(std::move(on_end)), resumed_(executor_), ended_(executor_) {}

IPYBOX_DECL void kernel_listener::begin() {
    auto const ended = [self = shared_from_this()](std::exception_ptr bug, result<void> end) {
        // A kernel whose messages cannot be taken, for want of memory, say, is of no use any more.
        if (bug)
            end = failure(errc::kernel_died,
                          "a message of the kernel could not be taken, and it was ended: " + error_of(bug).text());
        self->on_ended(std::move(end));
    };
    spawn(executor_, listen(shared_from_this()), ended);
}

IPYBOX_DECL asio::awaitable<result<void>> kernel_listener::listen(std::shared_ptr<kernel_listener> self) {
    for (;;) {
        while (self->waits()) co_await wait_for(self->resumed_, clock::time_point::max());
        if (self->left_) co_return result<void>();
        auto m = co_await self->link_->receive();
        if (self->left_) co_return result<void>();
        if (!m) co_return failure(m);
        if (!self->drops_) self->pass_on(std::move(*m));
    }
}

IPYBOX_DECL void kernel_listener::on_ended(result<void> end) {
    auto const tell = std::exchange(on_end_, nullptr);
    ended_.cancel();
    if (!left_) tell(std::move(end).error());
}

IPYBOX_DECL void kernel_listener::resume() {
    if (std::exchange(paused_, false)) resumed_.cancel();
}

IPYBOX_DECL void kernel_listener::drop_rest() {
    drops_ = true;
    resumed_.cancel();
}

IPYBOX_DECL void kernel_listener::leave() {
    left_ = true;
    resumed_.cancel();
}

/// So many bytes of messages are taken before the first ones are dealt with. A single one may have more.
inline constexpr std::size_t most_in_hand = std::size_t(4) << 20;

IPYBOX_DECL bool kernel_listener::waits() const noexcept {
    return !left_ && !drops_ && (paused_ || in_hand_ >= most_in_hand);
}

IPYBOX_DECL void kernel_listener::pass_on(jupyter::message m) {
    auto const bytes = m.size + sizeof(m);
    auto const gone = [weak = weak_from_this(), bytes](void*) {
        if (auto const self = weak.lock()) self->let_go(bytes);
    };
    in_hand_ += bytes; // first: `gone` is called too where there is no memory for its owner
    m.in_hand = std::shared_ptr<void>(nullptr, gone);
    on_message_(std::move(m));
}

IPYBOX_DECL void kernel_listener::let_go(std::size_t bytes) noexcept {
    bool const waited = in_hand_ >= most_in_hand;
    in_hand_ -= bytes;
    if (waited && in_hand_ < most_in_hand) resumed_.cancel();
}

IPYBOX_DECL asio::awaitable<void> kernel_listener::ends_by(clock::time_point bound) {
    auto const self = shared_from_this();
    while (on_end_ && clock::now() < bound) co_await wait_for(ended_, bound);
}

/// Until the timer is cancelled, or has expired.
IPYBOX_DECL asio::awaitable<void> kernel_listener::wait_for(asio::steady_timer& timer, clock::time_point bound) {
    timer.expires_at(bound);
    asio::error_code cancelled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

} // namespace ipybox::detail
