#pragma once

#include <ipybox/async/within.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/session/impl/running.hpp>
#include <ipybox/session/session.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>

#include <exception>
#include <system_error>
#include <utility>

namespace ipybox::detail {

inline std::filesystem::path directory_or(std::filesystem::path const& wanted, char const* standard) {
    std::error_code ignored;
    return std::filesystem::absolute(wanted.empty() ? std::filesystem::path(standard) : wanted, ignored)
        .lexically_normal();
}

inline executor_options with_absolute_paths(executor_options options) {
    options.images_dir = directory_or(options.images_dir, "images");
    if (!options.working_dir.empty()) options.working_dir = directory_or(options.working_dir, ".");
    std::error_code ignored;
    if (options.spill_dir.empty()) options.spill_dir = std::filesystem::temp_directory_path(ignored);
    options.spill_dir = directory_or(options.spill_dir, "/tmp");
    return options;
}

inline approval_settings approval_settings_of(executor_options const& options) {
    approval_settings settings;
    settings.approve_tool_calls = options.approve_tool_calls;
    settings.approve_shell_cmds = options.approve_shell_cmds;
    settings.approval_timeout = options.approval_timeout;
    settings.calls_per_cell = options.calls_per_cell;
    if (options.rules) settings.rules = *options.rules;
    settings.audit = options.audit;
    return settings;
}

/// What an exception of the host's own says: of a standard library or system that refuses, or of an application's type.
inline error error_of(std::exception_ptr const& bug) {
    auto const text = [](char const* what) { return std::string("the host could not do this: ") + what; };
    try {
        std::rethrow_exception(bug);
    } catch (std::system_error const& e) {
        return error(errc::io_error, text(e.what())).with_cause(e.code());
    } catch (std::exception const& e) { return error(errc::io_error, text(e.what())); } catch (...) {
        return error(errc::io_error, text("an exception of an unknown type"));
    }
}

/// Delivers what a coroutine comes to. Where it throws there is no value to deliver, and the one that Asio makes up would look like success.
template <class T, class Done>
auto delivery_to(Done done) {
    return [done = std::move(done)](std::exception_ptr bug, result<T> value) mutable {
        if (bug) value = failure(error_of(bug));
        done(std::move(value));
    };
}

IPYBOX_DECL session::session(home where, session_parts parts)
    : home_(std::move(where)), options_(with_absolute_paths(std::move(parts.options))), wrap_(std::move(parts.wrap)),
      shares_supervisor_(parts.shared != nullptr), link_(std::move(parts.link)),
      actions_(std::make_shared<kernel_actions>(home_.executor, std::move(parts.approval),
                                                approval_settings_of(options_), options_.servers)),
      supervisor_(std::move(parts.shared)), inbox_(home_.executor), receiving_changed_(home_.executor) {}

/// Runs work at home, behind what was handed over before.
template <class Work>
void session::on_home(Work work) {
    asio::post(home_.executor, [self = shared_from_this(), work = std::move(work)]() mutable { work(*self); });
}

// --- requests, from any thread ---------------------------------------------------------------------------------------

IPYBOX_DECL void session::submit(request r) {
    on_home([r = std::move(r)](session& self) mutable {
        auto const* asked = std::get_if<std::shared_ptr<control>>(&r);
        if (self.closing_) {
            if (asked) return (*asked)->done(failure(errc::not_running));
            return self.deliver(*std::get<std::shared_ptr<execution>>(r), failure(errc::not_running));
        }
        auto const what = asked ? (*asked)->what : order::start;
        if (what != order::start) self.unwant_all({what == order::reset ? errc::cancelled : errc::not_running, true});
        if (what == order::stop) self.abandon_start();
        self.requests_.push_back(std::move(r));
        self.ensure_served();
    });
}

/// An executor that has nothing to do has nothing under way either: an application's context may run dry.
IPYBOX_DECL void session::ensure_served() {
    if (!std::exchange(serving_, true)) asio::co_spawn(home_.executor, serve(shared_from_this()), asio::detached);
}

/// Takes the waiting executions that `wanted` says yes to out of the queue and completes them.
template <class Predicate>
void session::end_waiting(Predicate wanted, errc reason) {
    std::vector<std::shared_ptr<execution>> ended;
    std::erase_if(requests_, [&](request const& r) {
        auto const* e = std::get_if<std::shared_ptr<execution>>(&r);
        if (!e || !wanted(**e)) return false;
        ended.push_back(*e);
        return true;
    });
    for (auto const& e : ended) deliver(*e, failure(reason));
}

/// What the signal of a call does, from any thread. It does not keep what was asked for alive.
template <class T>
std::function<void()> session::forgetting(std::shared_ptr<T> const& asked) {
    return [weak = weak_from_this(), which = std::weak_ptr<T>(asked)] {
        auto const self = weak.lock();
        auto const unwanted = which.lock();
        if (self && unwanted) self->on_home([unwanted](session& s) { s.unwant(unwanted.get()); });
    };
}

/// Never cleared: a signal that comes too late finds nothing. Clearing the slot from home would race with the signal's own thread.
inline void on_signal(asio::cancellation_slot slot, std::function<void()> what) {
    if (slot.is_connected()) slot.assign([what = std::move(what)](asio::cancellation_type) { what(); });
}

IPYBOX_DECL void session::submit(order what, completion<result<void>> done) {
    auto const slot = done.slot();
    auto asked = std::make_shared<control>(control{what, std::move(done)});
    // A stop is not for changing one's mind: with the request the executions have ended already.
    if (what != order::stop) on_signal(slot, forgetting(asked));
    submit(std::move(asked));
}

IPYBOX_DECL void session::start(completion<result<void>> done) { submit(order::start, std::move(done)); }
IPYBOX_DECL void session::reset(completion<result<void>> done) { submit(order::reset, std::move(done)); }
IPYBOX_DECL void session::stop(completion<result<void>> done) { submit(order::stop, std::move(done)); }

IPYBOX_DECL void session::execute(std::shared_ptr<execution> e) {
    auto const forget = forgetting(e);
    if (e->events) {
        auto const go_on = [weak = weak_from_this()] {
            if (auto const self = weak.lock()) self->on_home([](session& s) { s.resume_receiving(); });
        };
        e->events->on_reader(go_on, forget);
    } else {
        on_signal(e->done.slot(), forget);
    }
    submit(std::move(e));
}

IPYBOX_DECL void session::cancel() {
    on_home([](session& self) { self.unwant_all({errc::cancelled}); });
}

IPYBOX_DECL void session::interrupt(completion<result<void>> done) {
    auto const slot = done.slot();
    auto const call = std::make_shared<completion<result<void>>>(std::move(done));
    auto const finish = [call](result<void> outcome) {
        if (*call) (*call)(std::move(outcome));
    };
    on_signal(slot, [weak = weak_from_this(), finish] {
        if (auto const self = weak.lock()) self->on_home([finish](session&) { finish(failure(errc::cancelled)); });
    });
    on_home([finish](session& self) {
        if (self.state_ != kernel_state::busy) return finish(result<void>());
        auto const forward = [link = self.link_]() -> asio::awaitable<result<void>> {
            co_return co_await link->interrupt();
        };
        asio::co_spawn(self.home_.executor, forward, delivery_to<void>(finish));
    });
}

IPYBOX_DECL mcp::server_registry& session::servers() noexcept { return actions_->servers(); }

IPYBOX_DECL void session::list_tools(std::string server, completion<result<std::vector<mcp::tool>>> done) {
    on_home([server = std::move(server), done = std::move(done)](session& self) mutable {
        asio::co_spawn(self.home_.executor, self.actions_->servers().list_tools(std::move(server)),
                       delivery_to<std::vector<mcp::tool>>(std::move(done)));
    });
}

IPYBOX_DECL void session::give(grant what) {
    on_home([what = std::move(what)](session& self) { self.actions_->give(what); });
}

IPYBOX_DECL void session::close() {
    on_home([](session& self) {
        self.closing_ = true;
        self.unwant_all({errc::not_running, true});
        self.abandon_start();
        self.ensure_served();
    });
    std::shared_ptr<supervisor> own;
    std::jthread search;
    {
        std::scoped_lock const lock(supervisor_mutex_);
        closed_ = true;
        search = std::move(search_);
        if (!shares_supervisor_) own = supervisor_;
    }
    // Also where nobody runs the application's I/O context any more, no process is left.
    if (own) own->end();
    search = std::jthread();
    if (home_.thread) home_.thread->join();
}

/// Executions that wait are ended at once, the running one is told.
IPYBOX_DECL void session::unwant_all(execution::ending how) {
    end_waiting([](execution const&) { return true; }, how.reason);
    if (current_) unwant(current_.get(), how);
}

IPYBOX_DECL void session::unwant(execution const* which, execution::ending how) {
    if (current_.get() != which) return end_waiting([which](execution const& e) { return &e == which; }, how.reason);
    if (!current_->unwanted && awaits_kernel_) abandon_start();
    if (!current_->unwanted || how.at_once) current_->unwanted = how;
    resume_receiving();
    inbox_.push(nudge());
}

/// What waits is taken out of the queue; a start under way is abandoned, and the kernel stays stopped.
IPYBOX_DECL void session::unwant(control const* which) {
    if (obeyed_.get() == which) {
        obeyed_->unwanted = true;
        return abandon_start();
    }
    std::erase_if(requests_, [&](request const& r) {
        auto const* asked = std::get_if<std::shared_ptr<control>>(&r);
        if (!asked || asked->get() != which) return false;
        (*asked)->done(failure(errc::cancelled));
        return true;
    });
}

IPYBOX_DECL void session::deliver(execution& e, result<execution_result> outcome) {
    if (e.events)
        e.events->finish(std::move(outcome));
    else
        e.done(std::move(outcome));
}

// --- serving -----------------------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<void> session::serve(std::shared_ptr<session> self) {
    while (!self->requests_.empty()) {
        auto next = std::move(self->requests_.front());
        self->requests_.pop_front();
        if (auto* c = std::get_if<std::shared_ptr<control>>(&next))
            co_await self->obey(std::move(*c));
        else
            co_await self->run(std::move(std::get<std::shared_ptr<execution>>(next)));
    }
    if (self->closing_) {
        co_await self->stop_kernel();
        co_await self->actions_->stop_servers();
        self->release_supervisor();
    }
    self->serving_ = false;
}

IPYBOX_DECL asio::awaitable<void> session::obey(std::shared_ptr<control> c) {
    if (closing_) co_return c->done(failure(errc::not_running));
    obeyed_ = c;
    auto outcome = co_await done_as_told(*c);
    obeyed_.reset();
    if (!outcome && c->unwanted) outcome = failure(errc::cancelled);
    c->done(std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<void>> session::done_as_told(control const& c) {
    if (c.what == order::start) {
        stopped_by_request_ = false;
        auto ready = co_await ensure_kernel();
        if (!ready) co_return failure(ready);
        co_return result<void>();
    }
    co_await stop_kernel();
    co_await actions_->stop_servers();
    stopped_by_request_ = c.what == order::stop;
    if (c.what == order::reset) co_return co_await start_kernel();
    release_supervisor();
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<void> session::run(std::shared_ptr<execution> e) {
    current_ = e;
    inbox_.clear();
    auto outcome = co_await perform(e);
    current_.reset();
    // What came behind the end of the execution is not lost.
    while (auto rest = co_await inbox_.pop(std::chrono::steady_clock::time_point::min()))
        if (auto* m = std::get_if<jupyter::message>(&*rest)) late_.keep(std::move(*m));
    resume_receiving();
    deliver(*e, std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<execution_result>> session::perform(std::shared_ptr<execution> e) {
    awaits_kernel_ = true;
    auto freshness = co_await ensure_kernel();
    awaits_kernel_ = false;
    if (e->unwanted) co_return failure(e->unwanted->reason);
    if (!freshness) co_return failure(freshness);
    if (state_ == kernel_state::idle)
        state_ = kernel_state::busy; // else it is dead again, which is the first thing to be heard
    running now(*this, *e, *freshness);
    auto outcome = co_await now.run();
    if (state_ == kernel_state::busy) state_ = kernel_state::idle;
    co_return outcome;
}

// --- the kernel's life ---------------------------------------------------------------------------------------------------

/// Sees to it that there is a kernel; fresh is one that takes a dead one's place.
IPYBOX_DECL asio::awaitable<result<kernel_freshness>> session::ensure_kernel() {
    if (state_ == kernel_state::idle) co_return kernel_freshness::kept;
    if (stopped_by_request_)
        co_return failure(errc::not_running, "the executor was stopped; start() brings a fresh kernel");
    bool const dead = state_ == kernel_state::dead;
    if (dead && !options_.restart_dead_kernel) {
        auto text = death_->text() + "; reset() brings a fresh one, restart_dead_kernel does it by itself";
        co_return failure(error(errc::kernel_died, std::move(text)).with_status(death_->status()));
    }
    if (dead) co_await stop_kernel();
    auto started = co_await start_kernel();
    if (!started && dead) state_ = kernel_state::dead; // the next one has to say that its kernel is fresh
    if (!started) co_return failure(started);
    co_return dead ? kernel_freshness::fresh : kernel_freshness::kept;
}

IPYBOX_DECL asio::awaitable<result<void>> session::start_kernel() {
    auto started = co_await start_link();
    // A supervisor that died since its last kernel is found out here; a fresh one is as good.
    if (!started && started.error() == errc::supervisor_died && !shares_supervisor_) started = co_await start_link();
    if (!started) co_return started;
    state_ = kernel_state::idle;
    death_.reset();
    receiving_ = true;
    asio::co_spawn(home_.executor, receive(shared_from_this()), asio::detached);
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<result<void>> session::start_link() {
    if (start_unwanted()) co_return failure(errc::cancelled);
    starting_ = true;
    start_abandoned_ = false;
    auto started = co_await start_under_supervisor();
    starting_ = false;
    if (started && !start_abandoned_) {
        actions_->serve(link_->kernel());
        co_return started;
    }
    co_await link_->stop();
    if (start_abandoned_) co_return failure(errc::not_running);
    release_supervisor();
    co_return started;
}

IPYBOX_DECL asio::awaitable<result<void>> session::start_under_supervisor() {
    auto owner = co_await obtain_supervisor();
    if (!owner) co_return failure(owner);
    if (start_abandoned_) co_return failure(errc::not_running);
    auto prepared = launch_with_actions();
    if (!prepared) co_return failure(prepared);
    auto started = co_await link_->start(*owner, std::move(*prepared));
    if (!started) co_return failure(started);
    co_return result<void>();
}

/// Nobody waits any more for the kernel that is about to be started.
IPYBOX_DECL bool session::start_unwanted() const noexcept {
    return (obeyed_ && obeyed_->unwanted) || (awaits_kernel_ && current_->unwanted);
}

/// Whoever stops or closes an executor, or cancels what starts its kernel, does not wait for a kernel that is only about to come.
IPYBOX_DECL void session::abandon_start() {
    if (!starting_) return;
    start_abandoned_ = true;
    {
        std::scoped_lock const lock(supervisor_mutex_);
        search_.request_stop();
    }
    auto const stop = [self = shared_from_this()]() -> asio::awaitable<void> { co_await self->link_->stop(); };
    asio::co_spawn(home_.executor, stop, asio::detached);
}

/// Lets go of a supervisor of its own, which ends it.
IPYBOX_DECL void session::release_supervisor() {
    if (shares_supervisor_) return;
    std::scoped_lock const lock(supervisor_mutex_);
    supervisor_.reset();
}

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<supervisor>>> session::obtain_supervisor() {
    if (supervisor_) co_return supervisor_;
    auto python = co_await look_for_python();
    if (!python) co_return failure(python);
    supervisor_options options;
    options.python = std::move(*python);
    options.env = kernel_environment(options_.kernel_env);
    options.working_dir = launch().working_dir;
    options.wrap = wrap_;
    options.duty = link_->duty();
    options.preload = options_.preload;
    std::scoped_lock const lock(supervisor_mutex_);
    if (closed_) co_return failure(errc::not_running);
    supervisor_ = std::make_shared<supervisor>(home_.executor, std::move(options));
    co_return supervisor_;
}

/// On a thread of its own: a script in front of the interpreter is run, and takes its time.
IPYBOX_DECL asio::awaitable<result<std::filesystem::path>> session::look_for_python() {
    using found = result<std::filesystem::path>;
    auto const look = [this](completion<found> done) {
        std::scoped_lock const lock(supervisor_mutex_);
        if (closed_) return done(failure(errc::not_running));
        auto search = [wanted = options_.python, done = std::move(done)](std::stop_token stop) mutable {
            auto python = found(failure(errc::not_running));
            try {
                python = find_python(wanted, std::move(stop));
            } catch (...) { python = failure(error_of(std::current_exception())); }
            done(std::move(python));
        };
        search_ = std::jthread(std::move(search));
    };
    co_return co_await suspend<found>(look);
}

IPYBOX_DECL kernel_launch session::launch() const {
    kernel_launch l;
    l.env = kernel_environment(options_.kernel_env);
    l.working_dir = directory_or(options_.working_dir, ".");
    l.after_cell = options_.working_dir.empty() ? cwd_policy::keep : cwd_policy::restore;
    l.start_bound = countable(options_.kernel_init_timeout);
    return l;
}

/// A kernel that was not forked has no action channel: what it was asked to ask for would happen without a question.
IPYBOX_DECL result<kernel_launch> session::launch_with_actions() {
    auto prepared = launch();
    if (link_->duty() != supervisor_options::role::forks_kernels) {
        if (options_.require_shell_escape)
            return failure(errc::guard_unavailable, "require_shell_escape needs a forked kernel: socketpair_transport");
        if (options_.approve_shell_cmds)
            return failure(errc::invalid_argument, "approve_shell_cmds needs a kernel that asks: socketpair_transport");
        return prepared;
    }
    prepared.guard = options_.require_shell_escape ? kernel_guard::no_exec : kernel_guard::none;
    auto channel = actions_->open();
    if (!channel) return failure(channel);
    prepared.action_socket = std::move(*channel);
    return prepared;
}

IPYBOX_DECL asio::awaitable<void> session::stop_kernel() {
    state_ = kernel_state::stopped;
    actions_->close();
    resume_receiving();
    co_await link_->stop();
    auto const bound = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (receiving_ && std::chrono::steady_clock::now() < bound) {
        receiving_changed_.expires_at(bound);
        asio::error_code changed;
        co_await receiving_changed_.async_wait(asio::redirect_error(asio::use_awaitable, changed));
    }
    late_ = late_output();
    inbox_.clear();
}

/// Puts a fresh kernel in place of one that does not end its code. Without one to be had the executor is left with a dead one.
IPYBOX_DECL asio::awaitable<bool> session::replace_kernel() {
    co_await stop_kernel();
    auto started = co_await start_kernel();
    if (started) co_return true;
    state_ = kernel_state::dead;
    death_ = std::move(started).error();
    co_return false;
}

/// Ends a kernel that did not end by itself.
IPYBOX_DECL asio::awaitable<void> session::end_kernel() {
    co_await stop_kernel();
    state_ = kernel_state::dead;
    death_ = error(errc::kernel_died, "the kernel did not end by itself after exit(), and was killed");
}

// --- receiving -----------------------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<void> session::receive(std::shared_ptr<session> self) {
    bool lost = false;
    for (;;) {
        while (self->receiving_paused_) {
            self->receiving_changed_.expires_at(std::chrono::steady_clock::time_point::max());
            asio::error_code changed;
            co_await self->receiving_changed_.async_wait(asio::redirect_error(asio::use_awaitable, changed));
        }
        auto m = co_await self->link_->receive();
        if (!m) {
            lost = self->state_ != kernel_state::stopped;
            self->on_end(std::move(m).error());
            break;
        }
        if (self->current_)
            self->inbox_.push(std::move(*m));
        else
            self->late_.keep(std::move(*m));
    }
    self->receiving_ = false;
    self->receiving_changed_.cancel();
    // One that broke the protocol, or closed its end of the socket, may still run.
    if (lost) co_await self->link_->stop();
}

IPYBOX_DECL void session::on_end(error why) {
    if (state_ == kernel_state::stopped) return; // it was asked to
    actions_->close();
    state_ = kernel_state::dead;
    death_ = why;
    if (current_) inbox_.push(kernel_ended{std::move(why)});
}

IPYBOX_DECL void session::pause_receiving() { receiving_paused_ = true; }

IPYBOX_DECL void session::resume_receiving() {
    if (std::exchange(receiving_paused_, false)) receiving_changed_.cancel();
}

} // namespace ipybox::detail
