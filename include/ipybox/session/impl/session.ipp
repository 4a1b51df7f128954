#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/run_context.hpp>
#include <ipybox/session/running_execution.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session.hpp>
#include <ipybox/session/session_parts.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <exception>
#include <functional>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::shared_ptr<session> session::make(asio::any_io_executor executor,
                                                   std::weak_ptr<session_handle> const& outside,
                                                   std::function<void()> leave, session_parts parts) {
    auto made = std::make_shared<session>(std::move(executor), outside, std::move(leave), std::move(parts));
    made->kernel_->observe(made);
    return made;
}

IPYBOX_DECL session::session(asio::any_io_executor executor, std::weak_ptr<session_handle> const& outside,
                             std::function<void()> leave, session_parts parts)
    : executor_(std::move(executor)), leave_(std::move(leave)),
      settings_(std::make_shared<session_settings>(std::move(parts.options), std::move(parts.programs))),
      kernel_(std::make_shared<kernel_manager>(
          std::make_shared<session_services>(executor_, settings_,
                                             std::make_shared<any_approval const>(std::move(parts.approval)),
                                             std::make_shared<seen_messages>(executor_)),
          std::move(parts.wrap), parts.shared, std::move(parts.link))),
      context_(std::make_shared<run_context>(executor_, settings_, kernel_, [outside](std::function<void()> work) {
          post_to(outside, std::move(work));
      })) {
    services().make_offered();
}

// --- requests ----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void session::submit(std::shared_ptr<execution> e) {
    if (e->of_value) e->options.timeout = settings_->options().kernel.value_timeout;
    requests_.push(std::move(e));
    ensure_served();
}

IPYBOX_DECL void session::submit(std::shared_ptr<kernel_order> order) {
    using kind = kernel_order::kind;
    if (order->what == kind::reset) unwant_all({errc::cancelled, true});
    if (order->what == kind::stop) unwant_all({errc::not_running, true});
    if (order->what == kind::stop) overtake();
    requests_.push(std::move(order));
    ensure_served();
}

/// A stop has come: a start under way is abandoned, and a reset that ends its old kernel starts no other.
IPYBOX_DECL void session::overtake() {
    if (auto const obeyed = requests_.obeyed()) obeyed->overtaken = true;
    kernel_->abandon_start();
}

IPYBOX_DECL void session::interrupt(std::shared_ptr<pending_result<void>> call) {
    if (!kernel_->life().runs_code()) return call->complete(result<void>());
    auto const forward = [](std::shared_ptr<kernel_link> link) -> asio::awaitable<result<void>> {
        co_return co_await link->interrupt();
    };
    spawn(executor_, forward(kernel_->link()), delivery_to(std::move(call)));
}

IPYBOX_DECL void session::interrupt(execution const* which) {
    auto const e = requests_.running();
    if (e.get() == which && e->begun) context_->inbox.push(occurrence::interrupt_wanted());
}

IPYBOX_DECL void session::limit(std::shared_ptr<job_wait> const& wait, std::chrono::milliseconds bound,
                                std::function<void()> give_up) {
    if (wait->has_completed()) return;
    auto& timer = limits_.try_emplace(wait, executor_, clamped(bound)).first->second;
    timer.async_wait([weak = weak_from_this(), wait, give_up = std::move(give_up)](asio::error_code cancelled) {
        if (cancelled) return;
        give_up();
        if (auto const self = weak.lock()) self->forget({wait});
    });
}

IPYBOX_DECL void session::forget(job_core::waits const& over) {
    for (auto const& wait : over) limits_.erase(wait);
}

IPYBOX_DECL void session::when_started(std::function<void(result<void>)> then) {
    submit(std::make_shared<kernel_order>(kernel_order::kind::ensure,
                                          completion<result<void>>(called_in_place{std::move(then)})));
}

IPYBOX_DECL void session::close() {
    closing_ = true;
    limits_.clear(); // those who wait are told of the end
    unwant_all({errc::not_running, true});
    kernel_->abandon_start();
    ensure_served();
}

/// Executions that wait are ended at once, the running one is told.
IPYBOX_DECL void session::unwant_all(execution::ending how) {
    requests_.end_executions(how.reason);
    if (auto const e = requests_.running()) unwant(e.get(), how);
}

IPYBOX_DECL void session::unwant(execution const* which, execution::ending how) {
    auto const e = requests_.running();
    if (e.get() != which) return requests_.end(which, how.reason);
    if (!e->unwanted && !e->begun) kernel_->abandon_start();
    if (!e->unwanted || how.at_once) e->unwanted = how;
    resume_listening();
    context_->inbox.push(occurrence::nudge());
}

/// Waiting calls are removed from the queue; a start under way is abandoned, and the kernel stays stopped.
IPYBOX_DECL void session::unwant(kernel_order const* which) {
    auto const order = requests_.obeyed();
    if (order.get() != which) return requests_.end(which, errc::cancelled);
    order->unwanted = true;
    kernel_->abandon_start();
}

// --- serving -----------------------------------------------------------------------------------------------------------

/// An executor that has nothing to do has nothing under way either: an application's context may run dry.
IPYBOX_DECL void session::ensure_served() {
    if (std::exchange(serving_, true)) return;
    try {
        spawn(executor_, serve(shared_from_this()),
              [self = shared_from_this()](std::exception_ptr bug) { self->on_served(bug); });
    } catch (...) { // no memory for that: the next call begins anew
        serving_ = false;
        throw;
    }
}

IPYBOX_DECL asio::awaitable<void> session::serve(std::shared_ptr<session> self) {
    while (auto next = self->requests_.take()) {
        if (auto const* order = std::get_if<std::shared_ptr<kernel_order>>(&*next))
            co_await self->obey(*order);
        else
            co_await self->run(std::get<std::shared_ptr<execution>>(*next));
    }
    if (self->closing_ && !self->kernel_->life().is_closed()) co_await self->end_all();
}

/// Nothing is served any more. If an exception caused that, the call that met it fails, and the next begins anew.
IPYBOX_DECL void session::on_served(std::exception_ptr bug) {
    serving_ = false;
    if (bug) {
        kernel_->life().start_failed(error_of(bug));
        requests_.fail_under_way(error_of(bug));
    }
    if (!requests_.empty() || (closing_ && !kernel_->life().is_closed() && !bug)) return ensure_served();
    if (closing_ && leave_) leave_();
}

IPYBOX_DECL asio::awaitable<void> session::obey(std::shared_ptr<kernel_order> order) {
    result<void> outcome = failure(errc::not_running);
    if (!closing_) outcome = co_await done_as_told(*order);
    requests_.leave();
    if (!outcome && order->unwanted) outcome = failure(errc::cancelled);
    order->complete(std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<void>> session::done_as_told(kernel_order const& order) {
    using kind = kernel_order::kind;
    if (order.what == kind::start) kernel_->life().allow_start();
    if (order.what == kind::start || order.what == kind::ensure) {
        auto ready = co_await kernel_->ensure();
        if (!ready) co_return failure(ready);
        co_return result<void>();
    }
    co_await kernel_->let_end();
    co_await kernel_->end();
    context_->cells = 0;
    co_await session_services::stop(kernel_->services());
    if (order.what == kind::reset) {
        if (closing_ || order.unwanted || order.overtaken) co_return failure(errc::not_running);
        co_return co_await kernel_->start();
    }
    kernel_->life().stop_on_request();
    co_await kernel_->release_host();
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<void> session::run(std::shared_ptr<execution> e) {
    context_->inbox.clear();
    auto outcome = co_await perform(e);
    requests_.leave();
    // Messages behind the end of the execution are not lost.
    for (auto& rest : context_->inbox.take_all())
        if (auto* const m = std::get_if<jupyter::message>(&rest)) keep_for_later(std::move(*m));
    resume_listening();
    e->complete(std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<execution_result>> session::perform(std::shared_ptr<execution> e) {
    auto& life = kernel_->life();
    if (e->finishes && !life.is_idle()) {
        life.stop();
        co_await kernel_->end();
        co_return execution_result();
    }
    auto freshness = co_await kernel_->ensure();
    e->begun = true;
    if (e->unwanted) co_return failure(e->unwanted->reason);
    if (!freshness) co_return failure(freshness);
    if (e->of_value)
        fresh_untold_ = fresh_untold_ || *freshness == kernel_freshness::fresh;
    else if (std::exchange(fresh_untold_, false))
        freshness = kernel_freshness::fresh;
    life.execute(); // unless it is dead again, which is the first thing to be heard
    running_execution now(context_, *e, *freshness);
    co_return co_await now.run();
}

IPYBOX_DECL asio::awaitable<void> session::end_all() {
    co_await kernel_->let_end();
    kernel_->life().close();
    co_await kernel_->end();
    co_await session_services::end(kernel_->services());
    co_await kernel_->release_host();
}

// --- the kernel ----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void session::on_message(jupyter::message m) {
    if (requests_.running())
        context_->inbox.push(std::move(m));
    else
        keep_for_later(std::move(m));
}

/// Messages between two executions.
IPYBOX_DECL void session::keep_for_later(jupyter::message m) {
    auto const number = m.number;
    context_->late.keep(std::move(m));
    kernel_->seen().saw(number);
}

IPYBOX_DECL void session::on_death(error const& why) {
    if (requests_.running()) context_->inbox.push(occurrence::kernel_ended{why});
}

IPYBOX_DECL void session::on_gone() {
    context_->late = late_output();
    context_->inbox.clear();
}

} // namespace ipybox::detail
