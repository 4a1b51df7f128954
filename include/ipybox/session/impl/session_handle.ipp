#pragma once

#include <ipybox/async/blocking_wait.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/forked_away.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/session_parts.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <asio/post.hpp>
#include <asio/system_executor.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// How long functions of the application that run may take to notice that their session ends.
inline constexpr std::chrono::milliseconds time_for_functions{1000};

/// Waits for the end of an application's context.
class session_handle::context_end final : public context_waiters::waiter {
  public:
    explicit context_end(std::weak_ptr<session_handle> handle) : handle_(std::move(handle)) {}

    void arrive() override {}
    void abandon() noexcept override {
        if (auto const handle = handle_.lock()) handle->context_ends();
    }

  private:
    std::weak_ptr<session_handle> handle_;
};

IPYBOX_DECL std::shared_ptr<session_handle> session_handle::make(serial_context where, session_parts parts) {
    auto const handle = make_shared_in_process<session_handle>();
    handle->executor_ = where.executor;
    handle->code_dir_ = parts.options.working_dir;
    handle->may_block_ = std::move(where.may_block);
    std::function<void()> leave;
    if (where.thread) {
        // Calls that are no requests of the session complete here, too, in front of the end of the thread.
        leave = [outstanding = handle->outstanding_, stop = where.thread->stopper()] {
            outstanding->end(error(errc::not_running, ""));
            stop();
        };
    }
    handle->thread_ = std::move(where.thread);
    handle->session_ = session::make(where.executor, handle, std::move(leave), std::move(parts));
    if (!handle->thread_) {
        handle->context_ = context_waiters::of(where.executor);
        handle->context_end_ = std::make_shared<context_end>(handle);
        handle->context_->add(handle->context_end_);
    }
    return handle;
}

IPYBOX_DECL std::shared_ptr<session_handle> const& session_handle::closed() {
    // Never destroyed: static objects may move executors, or call those that were moved from, until the end of the
    // program.
    static auto const& none = *new auto([] {
        auto handle = std::make_shared<session_handle>();
        handle->outstanding_->end(
            error(errc::not_running, "this executor was moved from: use the one that it was moved to"));
        return handle;
    }());
    return none;
}

/// The effect of a call's signal, from any thread. It does not keep what was asked for alive.
template <class T>
std::function<void()> session_handle::forgetting(std::shared_ptr<T> const& asked) {
    return [weak = weak_from_this(), which = std::weak_ptr<T>(asked)] {
        auto const self = weak.lock();
        auto const unwanted = which.lock();
        if (self && unwanted) self->post([unwanted](session& s) { s.unwant(unwanted.get()); });
    };
}

/// Never cleared: a signal that comes too late finds nothing. Clearing the slot from the session would race with the
/// signal's own thread.
inline void on_signal(asio::cancellation_slot slot, std::function<void()> what) {
    if (slot.is_connected()) slot.assign([what = std::move(what)](asio::cancellation_type) { what(); });
}

/// Has a call served, or fails it.
IPYBOX_DECL void session_handle::begin(std::shared_ptr<pending_call> const& call, std::function<void(session&)> work) {
    if (!owner_.is_this()) return call->fail(forked_away());
    if (call->waits_its_turn() && blocking_wait::begins_here()) {
        if (auto const may = may_wait_for_turn(); !may) return call->fail(may.error());
    }
    if (!outstanding_->add(call)) return;
    // For want of memory one call fails, not the thread.
    auto const guarded = [call, work = std::move(work)](session& s) {
        try {
            work(s);
        } catch (...) { call->fail(error_of(std::current_exception())); }
    };
    if (!post(guarded)) call->fail(error(errc::not_running, ""));
}

IPYBOX_DECL void session_handle::order(kernel_order::kind what, completion<result<void>> done) {
    auto const slot = done.slot();
    auto asked = std::make_shared<kernel_order>(what, std::move(done));
    // A stop is not for changing one's mind: with the request the executions have ended already.
    if (what != kernel_order::kind::stop) on_signal(slot, forgetting(asked));
    begin(asked, [asked](session& s) { s.submit(asked); });
}

IPYBOX_DECL void session_handle::execute(std::shared_ptr<execution> const& e, asio::cancellation_slot slot) {
    auto const forget = forgetting(e);
    if (e->events) {
        auto const go_on = [weak = weak_from_this()] {
            if (auto const self = weak.lock()) self->post([](session& s) { s.resume_listening(); });
        };
        e->events->on_reader(go_on, forget);
    } else {
        on_signal(slot, forget);
    }
    begin(e, [e](session& s) { s.submit(e); });
}

IPYBOX_DECL void session_handle::cancel() {
    post([](session& s) { s.unwant_all({errc::cancelled}); });
}

IPYBOX_DECL void session_handle::interrupt(completion<result<void>> done) {
    auto const call = std::make_shared<pending_result<void>>(std::move(done));
    forget_on_signal(call);
    begin(call, [call](session& s) { s.interrupt(call); });
}

IPYBOX_DECL void session_handle::cancel_execution(std::shared_ptr<execution> const& e) {
    if (e) post([e](session& s) { s.unwant(e.get()); });
}

IPYBOX_DECL void session_handle::interrupt_execution(std::shared_ptr<execution> const& e) {
    if (e) post([e](session& s) { s.interrupt(e.get()); });
}

IPYBOX_DECL void session_handle::limit(std::shared_ptr<job_core> const& job, std::shared_ptr<job_wait> const& wait,
                                       std::chrono::milliseconds bound) {
    auto const give_up = [of = std::weak_ptr(job), which = std::weak_ptr(wait)] {
        auto const waiting = which.lock();
        if (!waiting) return;
        if (auto const asked = of.lock()) asked->remove(waiting);
        waiting->complete(false);
    };
    on_signal(wait->slot(), [give_up, weak = weak_from_this(), which = std::weak_ptr(wait)] {
        give_up();
        auto const self = weak.lock();
        auto const over = which.lock();
        if (self && over) self->forget({over});
    });
    // A session that is closed ends its jobs, and so all waits for them.
    post([wait, bound, give_up](session& s) { s.limit(wait, bound, give_up); });
}

IPYBOX_DECL void session_handle::forget(job_core::waits over) {
    if (over.empty()) return;
    post([over = std::move(over)](session& s) {
        for (auto const& wait : over) s.forget(wait);
    });
}

/// A call that is only waited for: its signal ends the waiting.
IPYBOX_DECL void session_handle::forget_on_signal(std::shared_ptr<pending_call> const& call,
                                                  asio::cancellation_slot slot) {
    on_signal(slot, [weak = std::weak_ptr(call)] {
        if (auto const waiting = weak.lock()) waiting->fail(error(errc::cancelled, ""));
    });
}

/// Does the work of a call on a thread of its own, for whose end the handle waits.
IPYBOX_DECL void session_handle::aside(std::shared_ptr<pending_call> const& call, std::function<void()> work) {
    // An exception of an application's function is the outcome of the call.
    auto const guarded = [call, work = std::move(work)] {
        try {
            work();
        } catch (...) { call->fail(error_of(std::current_exception())); }
    };
    try {
        aside_.begin(guarded);
    } catch (...) { call->fail(error_of(std::current_exception())); }
}

IPYBOX_DECL void session_handle::list_tools(std::string server, completion<result<std::vector<mcp::tool>>> done) {
    auto const call = std::make_shared<pending_result<std::vector<mcp::tool>>>(std::move(done));
    begin(call, [call, server = std::move(server)](session& s) { s.list_tools(server, call); });
}

IPYBOX_DECL void session_handle::approve(approval_subject subject, completion<result<std::uint64_t>> done) {
    auto const call = std::make_shared<pending_result<std::uint64_t>>(std::move(done));
    forget_on_signal(call);
    begin(call, [call, subject = std::move(subject)](session& s) { s.approve(subject, call); });
}

IPYBOX_DECL void session_handle::record(std::uint64_t id, action_outcome how) {
    post([id, how = std::move(how)](session& s) { s.record(id, how); });
}

IPYBOX_DECL void session_handle::install(std::vector<std::string> words, completion<result<installation>> done) {
    using call_type = pending_result<installation>;
    auto const call = std::make_shared<call_type>(std::move(done), call_type::served::in_its_turn);
    forget_on_signal(call);
    begin(call, [call, words = std::move(words)](session& s) { s.install(words, call); });
}

IPYBOX_DECL void session_handle::close() {
    // A fork has neither the thread nor the processes, and must not end those of its parent.
    if (!owner_.is_this()) return;
    std::shared_ptr<session> body;
    std::unique_ptr<io_thread> thread;
    asio::any_io_executor executor;
    std::function<result<void>()> may_block;
    std::shared_ptr<tool_packages> tools;
    {
        std::scoped_lock const lock(mutex_);
        if (!session_) return;
        tools = session_->tools();
        asio::post(executor_, [self = session_] { self->close(); });
        body = std::move(session_);
        executor = std::move(executor_);
        may_block = std::move(may_block_);
        thread = std::move(thread_);
        closing_ = std::this_thread::get_id();
    }
    // A thread of its own brings everything to an end, in its order and within bounds. Nothing can be known of who runs
    // an application's context.
    bool const alone = !thread || thread->join();
    // Functions of the application may use what goes behind the executor.
    tools->end(time_for_functions);
    if (alone) {
        body->end_from_outside();
        outstanding_->end(error(errc::not_running, ""));
    }
    if (context_) context_->remove(*context_end_);
    // Only then a context of its own goes, with everything that still waits in it.
    body.reset();
    executor = asio::any_io_executor();
    may_block = nullptr;
    {
        std::scoped_lock const lock(mutex_);
        closing_ = std::thread::id();
    }
    closed_.notify_all();
}

/// The application's context goes, under an executor that is open or that another thread is closing.
IPYBOX_DECL void session_handle::context_ends() noexcept {
    if (!owner_.is_this()) return;
    std::shared_ptr<session> body;
    asio::any_io_executor executor;
    std::function<result<void>()> may_block;
    {
        std::unique_lock lock(mutex_);
        // A session that another thread closes uses the context until that thread has destroyed it.
        closed_.wait(lock, [this] { return closing_ == std::thread::id() || closing_ == std::this_thread::get_id(); });
        if (!session_) return;
        body = std::move(session_);
        executor = std::move(executor_);
        may_block = std::move(may_block_);
    }
    body->end_from_outside();
    outstanding_->end(error(errc::not_running, ""));
}

IPYBOX_DECL void post_to(std::weak_ptr<session_handle> const& outside, std::function<void()> work) {
    if (auto const handle = outside.lock()) handle->post([work = std::move(work)](session&) { work(); });
}

IPYBOX_DECL void session_handle::remember_place(std::string const& package, generated_place place) {
    std::error_code ignored; // the current directory may be another one by then
    place.root_dir = std::filesystem::absolute(place.root_dir, ignored);
    auto const own = tools();
    if (!own || !own->list(package)) {
        post([package, place = std::move(place)](session& s) { s.packages().remember(package, place); });
        return;
    }
    std::vector<generated_place> unneeded; // a filter is the application's
    std::scoped_lock const lock(mutex_);
    auto& places = generated_[package];
    auto const same = std::ranges::partition(places, [&](auto const& p) { return p.root_dir != place.root_dir; });
    unneeded.assign(std::move_iterator(same.begin()), std::move_iterator(same.end()));
    places.erase(same.begin(), same.end());
    places.push_back(std::move(place));
}

IPYBOX_DECL std::vector<generated_place> session_handle::places_of(std::string const& package) const {
    std::scoped_lock const lock(mutex_);
    auto const found = generated_.find(package);
    return found == generated_.end() ? std::vector<generated_place>() : found->second;
}

IPYBOX_DECL std::vector<unprotected_file> session_handle::unprotected_files() const {
    std::function<std::vector<unprotected_file>()> look;
    {
        std::scoped_lock const lock(mutex_);
        if (session_) look = session_->unprotected_files();
    }
    return look ? look() : std::vector<unprotected_file>();
}

IPYBOX_DECL kernel_state session_handle::state() const {
    std::scoped_lock const lock(mutex_);
    return session_ ? session_->state() : kernel_state::stopped;
}

IPYBOX_DECL void session_handle::with_executor(borrower const& use) const {
    std::scoped_lock const lock(mutex_);
    if (session_)
        use(executor_);
    else
        use(asio::system_executor());
}

IPYBOX_DECL asio::any_io_executor session_handle::executor() const {
    asio::any_io_executor copy;
    with_executor([&copy](asio::any_io_executor const& executor) { copy = executor; });
    return copy;
}

IPYBOX_DECL result<void> session_handle::may_block() const {
    std::function<result<void>()> asked;
    {
        std::scoped_lock const lock(mutex_);
        asked = may_block_;
    }
    return asked ? asked() : result<void>(); // closed: it fails at once
}

IPYBOX_DECL result<void> session_handle::may_wait_for_turn() const {
    if (auto const own = tools(); own && own->runs_here())
        return failure(errc::would_deadlock,
                       "a function of a host tool cannot wait for code of the executor that calls "
                       "it: that waits for the function. Call an async_ operation, or another "
                       "executor");
    return {};
}

} // namespace ipybox::detail
