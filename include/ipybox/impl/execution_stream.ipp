#pragma once

#include <ipybox/async/stack_promise.hpp>
#include <ipybox/execution_stream.hpp>
#include <ipybox/session/event_queue.hpp>

#include <memory>
#include <utility>

namespace ipybox {

IPYBOX_DECL execution_stream::execution_stream(std::shared_ptr<detail::event_queue> events) noexcept
    : events_(std::move(events)) {}
IPYBOX_DECL execution_stream::execution_stream(execution_stream&& other) noexcept
    : events_(std::exchange(other.events_, detail::event_queue::ended())),
      refused_(std::exchange(other.refused_, false)) {}

IPYBOX_DECL execution_stream& execution_stream::operator=(execution_stream&& other) noexcept {
    if (this == &other) return *this;
    events_->leave();
    events_ = std::exchange(other.events_, detail::event_queue::ended());
    refused_ = std::exchange(other.refused_, false);
    return *this;
}

IPYBOX_DECL execution_stream::~execution_stream() { events_->leave(); }

IPYBOX_DECL execution_stream::event execution_stream::next() {
    if (auto ready = events_->try_next()) return std::move(*ready);
    if (auto served = events_->may_block(); !served) {
        // Said once: a loop over the events has to end.
        if (std::exchange(refused_, true)) return std::nullopt;
        return execution_event(result<execution_result>(failure(served)));
    }
    refused_ = false;
    detail::stack_promise<event> promise;
    auto const deliver = [&promise](event e) { promise.set_value(std::move(e)); };
    events_->next(detail::completion<event>(detail::called_in_place{deliver}), events_->next_wait());
    return promise.get();
}

IPYBOX_DECL void execution_stream::start_next(std::shared_ptr<detail::event_queue> const& events,
                                              detail::completion<event> done) {
    auto const wait = events->next_wait();
    // Never cleared: a signal that comes too late finds another wait, or none. It does not keep the events alive.
    if (auto slot = done.slot(); slot.is_connected())
        slot.assign([weak = std::weak_ptr(events), wait](asio::cancellation_type) {
            if (auto const queue = weak.lock()) queue->cancel_next(wait);
        });
    events->next(std::move(done), wait);
}

IPYBOX_DECL detail::executor_lender const& execution_stream::lender_of(detail::event_queue const& events) {
    return events;
}

} // namespace ipybox
