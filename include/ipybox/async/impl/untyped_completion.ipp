#pragma once

#include <ipybox/async/context_waiters.hpp>
#include <ipybox/async/untyped_completion.hpp>

#include <asio/execution/outstanding_work.hpp>
#include <asio/prefer.hpp>

#include <functional>

namespace ipybox::detail {

/// A handler that waits outside of its context. One without context has no `waiters_`.
class untyped_completion::waiting_handler final : public context_waiters::waiter {
  public:
    waiting_handler(std::unique_ptr<erased_handler> handler, asio::cancellation_slot slot)
        : slot_(slot), handler_(std::move(handler)) {}

    /// Takes an executor, whose context cannot go meanwhile, and belongs to that from now on. False: it is going.
    [[nodiscard]] bool join(asio::any_io_executor const& e, waiting_work work, std::shared_ptr<waiter> const& self) {
        asio::any_io_executor mine = e;
        if (work == waiting_work::tracked) mine = asio::prefer(mine, asio::execution::outstanding_work.tracked);
        waiters_ = context_waiters::of(mine);
        executor_ = std::move(mine);
        bool const joined = waiters_->try_add(self);
        if (!joined) executor_ = asio::any_io_executor();
        return joined;
    }

    void deliver(void* value) {
        if (!waiters_) return call_here(value);
        auto const keep = [&] {
            handler_->keep(value);
            has_value_ = true;
        };
        waiters_->resume(*this, executor_, keep);
    }

    void drop() noexcept {
        if (!waiters_) return;
        try {
            waiters_->resume(*this, executor_, [] {});
        } catch (...) { waiters_->remove(*this); }
    }

    void arrive() override {
        if (!has_value_) return abandon();      // dropped
        auto const work = std::move(executor_); // ends after the handler ran
        auto const handler = std::move(handler_);
        handler->call();
    }

    void abandon() noexcept override {
        handler_.reset();
        executor_ = asio::any_io_executor();
    }

    [[nodiscard]] asio::cancellation_slot slot() const noexcept { return slot_; }

  private:
    /// Unless the context of a lender was gone.
    void call_here(void* value) {
        if (!handler_) return;
        handler_->keep(value);
        handler_->call();
    }

    std::shared_ptr<context_waiters> waiters_;
    asio::any_io_executor executor_;
    asio::cancellation_slot const slot_;
    std::unique_ptr<erased_handler> handler_;
    bool has_value_ = false;
};

IPYBOX_DECL untyped_completion::untyped_completion(std::unique_ptr<erased_handler> handler,
                                                   asio::cancellation_slot slot, asio::any_io_executor const& own,
                                                   asio::any_io_executor const& fallback, waiting_work work)
    : handler_(std::make_shared<waiting_handler>(std::move(handler), slot)) {
    if (!handler_->join(own ? own : fallback, work, handler_)) handler_->abandon();
}

IPYBOX_DECL untyped_completion::untyped_completion(std::unique_ptr<erased_handler> handler,
                                                   asio::cancellation_slot slot, asio::any_io_executor const& own,
                                                   executor_lender const& fallback, waiting_work work)
    : handler_(std::make_shared<waiting_handler>(std::move(handler), slot)) {
    bool joined = false;
    auto const join = [&](asio::any_io_executor const& executor) { joined = handler_->join(executor, work, handler_); };
    if (own)
        join(own);
    else
        fallback.with_executor(std::ref(join)); // without an allocation
    if (!joined) handler_->abandon();           // not while the executor is lent: it is the application's
}

IPYBOX_DECL untyped_completion::untyped_completion(std::unique_ptr<erased_handler> handler)
    : handler_(std::make_shared<waiting_handler>(std::move(handler), asio::cancellation_slot())) {}

IPYBOX_DECL untyped_completion& untyped_completion::operator=(untyped_completion&& other) noexcept {
    untyped_completion const dropped(std::move(*this));
    handler_ = std::move(other.handler_);
    return *this;
}

IPYBOX_DECL untyped_completion::~untyped_completion() { drop(); }

IPYBOX_DECL void untyped_completion::drop() noexcept {
    if (handler_) handler_->drop();
}

IPYBOX_DECL asio::cancellation_slot untyped_completion::slot() const noexcept { return handler_->slot(); }

IPYBOX_DECL void untyped_completion::deliver(void* value) {
    // A copy: the handler may end what the completion is part of.
    auto const target = std::exchange(handler_, nullptr);
    target->deliver(value);
}

} // namespace ipybox::detail
