#pragma once

#include <ipybox/async/rendezvous.hpp>
#include <ipybox/execution_stream.hpp>
#include <ipybox/session/event_queue.hpp>

namespace ipybox {

IPYBOX_DECL execution_stream::execution_stream(std::shared_ptr<detail::event_queue> events) noexcept
    : events_(std::move(events)) {}
IPYBOX_DECL execution_stream::execution_stream(execution_stream&&) noexcept = default;

IPYBOX_DECL execution_stream& execution_stream::operator=(execution_stream&& other) noexcept {
    if (events_) events_->leave();
    events_ = std::move(other.events_);
    return *this;
}

IPYBOX_DECL execution_stream::~execution_stream() {
    if (events_) events_->leave();
}

IPYBOX_DECL execution_stream::event execution_stream::next() {
    if (auto ready = events_->try_next()) return std::move(*ready);
    if (events_->is_here()) return execution_event(result<execution_result>(failure(errc::would_deadlock)));
    detail::rendezvous<event> meeting;
    auto const bring = [&meeting](event e) { meeting.bring(std::move(e)); };
    events_->next({bring, events_->executor()});
    return meeting.wait();
}

IPYBOX_DECL void execution_stream::start_next(std::shared_ptr<detail::event_queue> const& events,
                                              detail::completion<event> done) {
    if (auto slot = done.slot(); slot.is_connected())
        slot.assign([events](asio::cancellation_type) { events->cancel_next(); });
    events->next(std::move(done));
}

IPYBOX_DECL asio::any_io_executor execution_stream::executor_of(detail::event_queue const& events) {
    return events.executor();
}

} // namespace ipybox
