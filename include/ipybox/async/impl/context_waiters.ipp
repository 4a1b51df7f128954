#pragma once

#include <ipybox/async/context_waiters.hpp>

#include <asio/execution/context_as.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>

#include <utility>

namespace ipybox::detail {

/// Lives in the context and is told of its end.
struct context_waiters::service final : asio::execution_context::service {
    static inline asio::execution_context::id id;

    explicit service(asio::execution_context& owner) : asio::execution_context::service(owner) {}
    ~service() override { waiters->end(); }
    void shutdown() override { waiters->end(); }

    std::shared_ptr<context_waiters> const waiters = std::make_shared<context_waiters>();
};

/// The work that is posted. Destroyed uncalled, with its context, it takes along what belongs to that.
struct context_waiters::posted {
    explicit posted(std::shared_ptr<waiter> w) noexcept : what(std::move(w)) {}
    posted(posted&&) noexcept = default;
    posted(posted const&) = delete;
    posted& operator=(posted&&) = delete;
    posted& operator=(posted const&) = delete;
    ~posted();
    void operator()() { std::exchange(what, nullptr)->arrive(); }

    std::shared_ptr<waiter> what;
};

/// While this thread posts, with the lock held. A context that shuts down, or has no memory, destroys at once what it
/// is given; that would need the lock. So it goes back, and `end` abandons it.
struct context_waiters::posting {
    posting(context_waiters& o, std::shared_ptr<waiter> w) noexcept
        : owner(o), what(std::move(w)), outer(std::exchange(posting_, this)) {}
    posting(posting const&) = delete;
    posting& operator=(posting const&) = delete;
    ~posting() {
        posting_ = outer;
        if (refused) owner.link(std::move(what));
    }

    context_waiters& owner;
    std::shared_ptr<waiter> what;
    posting* const outer;
    bool refused = false;
};

inline context_waiters::posted::~posted() {
    if (!what) return;
    if (posting_ != nullptr && posting_->what == what)
        posting_->refused = true;
    else
        what->abandon();
}

IPYBOX_DECL std::shared_ptr<context_waiters> const& context_waiters::of(asio::any_io_executor const& executor) {
    auto& context = asio::query(executor, asio::execution::context_as<asio::execution_context&>);
    return asio::use_service<service>(context).waiters;
}

IPYBOX_DECL void context_waiters::add(std::shared_ptr<waiter> w) {
    if (!try_add(w)) w->abandon();
}

IPYBOX_DECL bool context_waiters::try_add(std::shared_ptr<waiter> const& w) {
    std::scoped_lock const lock(mutex_);
    if (!gone_) link(w);
    return !gone_;
}

IPYBOX_DECL void context_waiters::remove(waiter& w) noexcept {
    std::shared_ptr<waiter> removed;
    {
        std::scoped_lock const lock(mutex_);
        if (gone_ || !w.self_) return;
        removed = unlink(w);
    }
    removed->abandon();
}

IPYBOX_DECL void context_waiters::post(waiter& w, asio::any_io_executor const& executor) {
    // The waiter may have arrived elsewhere before posting it returns.
    auto const target = executor; // NOLINT(performance-unnecessary-copy-initialization)
    posting const here(*this, unlink(w));
    asio::post(target, posted(here.what));
}

IPYBOX_DECL void context_waiters::link(std::shared_ptr<waiter> w) {
    auto& added = *w;
    added.next_ = std::exchange(first_, &added);
    if (added.next_) added.next_->previous_ = &added;
    added.self_ = std::move(w);
}

IPYBOX_DECL std::shared_ptr<context_waiters::waiter> context_waiters::unlink(waiter& w) {
    (w.previous_ ? w.previous_->next_ : first_) = w.next_;
    if (w.next_) w.next_->previous_ = w.previous_;
    w.next_ = w.previous_ = nullptr;
    return std::move(w.self_);
}

IPYBOX_DECL void context_waiters::end() noexcept {
    std::unique_lock lock(mutex_);
    gone_ = true;
    // One after the other, without the lock: abandoning one may drop others.
    while (first_) {
        auto const last = unlink(*first_);
        lock.unlock();
        last->abandon();
        lock.lock();
    }
}

} // namespace ipybox::detail
