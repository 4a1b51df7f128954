#pragma once

#include <ipybox/async/within.hpp>
#include <ipybox/core/exception_error.hpp>
#include <ipybox/core/json_text.hpp>
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

inline std::shared_ptr<output_places> places_of(executor_options const& options) {
    auto const whole = with_absolute_paths(options);
    auto const afterwards = options.spill_dir.empty() ? spilled_files::removed : spilled_files::kept;
    output_places::settings const settings{whole.images_dir, whole.spill_dir, directory_or(options.working_dir, "."),
                                           afterwards};
    return std::make_shared<output_places>(settings);
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

/// Delivers what a coroutine comes to. Where it throws there is no value to deliver, and the one that Asio makes up would look like success.
template <class T, class Done>
auto delivery_to(Done done) {
    return [done = std::move(done)](std::exception_ptr bug, result<T> value) mutable {
        if (bug) value = failure(error_of(bug));
        done->settle(std::move(value));
    };
}

IPYBOX_DECL session::session(asio::any_io_executor executor, std::weak_ptr<session_handle> outside,
                             std::function<void()> leave, session_parts parts)
    : executor_(std::move(executor)), outside_(std::move(outside)), leave_(std::move(leave)),
      places_(places_of(parts.options)), options_(with_absolute_paths(std::move(parts.options))),
      wrap_(std::move(parts.wrap)), host_(
                                        executor_, [this] { return own_supervisor(); }, parts.shared),
      link_(std::move(parts.link)), seen_(std::make_shared<seen_messages>(executor_)),
      actions_(std::make_shared<kernel_actions>(executor_, std::move(parts.approval), approval_settings_of(options_),
                                                seen_, options_.servers)),
      inbox_(executor_), receiving_changed_(executor_) {}

// --- requests ----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void session::submit(request r) {
    auto const* asked = std::get_if<std::shared_ptr<control>>(&r);
    auto const what = asked ? (*asked)->what : order::start;
    if (what != order::start) unwant_all({what == order::reset ? errc::cancelled : errc::not_running, true});
    if (what == order::stop) abandon_start();
    requests_.push_back(std::move(r));
    ensure_served();
}

/// An executor that has nothing to do has nothing under way either: an application's context may run dry.
IPYBOX_DECL void session::ensure_served() {
    if (std::exchange(serving_, true)) return;
    asio::co_spawn(executor_, serve(shared_from_this()),
                   [self = shared_from_this()](std::exception_ptr bug) { self->on_served(bug); });
}

/// Nothing is served any more. Where that is an exception's doing, the call that met it fails, and the next begins anew.
IPYBOX_DECL void session::on_served(std::exception_ptr bug) {
    serving_ = false;
    if (bug) {
        awaits_kernel_ = starting_ = false;
        if (auto const e = std::exchange(current_, nullptr)) e->fail(error_of(bug));
        if (auto const c = std::exchange(obeyed_, nullptr)) c->fail(error_of(bug));
    }
    if (!requests_.empty() || (closing_ && !closed_ && !bug)) return ensure_served();
    if (closing_ && leave_) leave_();
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
    for (auto const& e : ended) e->settle(failure(reason));
}

IPYBOX_DECL void session::interrupt(std::shared_ptr<pending_result<void>> call) {
    if (state_ != kernel_state::busy) return call->settle(result<void>());
    auto const forward = [link = link_]() -> asio::awaitable<result<void>> { co_return co_await link->interrupt(); };
    asio::co_spawn(executor_, forward, delivery_to<void>(std::move(call)));
}

IPYBOX_DECL mcp::server_registry& session::servers() noexcept { return actions_->servers(); }

IPYBOX_DECL void session::list_tools(std::string server, std::shared_ptr<pending_result<std::vector<mcp::tool>>> call) {
    asio::co_spawn(executor_, actions_->servers().list_tools(std::move(server)),
                   delivery_to<std::vector<mcp::tool>>(std::move(call)));
}

IPYBOX_DECL void session::give(grant what) { actions_->give(std::move(what)); }

IPYBOX_DECL void session::close() {
    closing_ = true;
    unwant_all({errc::not_running, true});
    abandon_start();
    ensure_served();
}

IPYBOX_DECL void session::end_from_outside() {
    host_.end();
    actions_->abandon();
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
        (*asked)->settle(failure(errc::cancelled));
        return true;
    });
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
    if (self->closing_ && !std::exchange(self->closed_, true)) {
        co_await self->let_kernel_end();
        co_await self->stop_kernel();
        co_await self->actions_->end_servers();
        co_await self->host_.release();
    }
}

IPYBOX_DECL asio::awaitable<void> session::obey(std::shared_ptr<control> c) {
    if (closing_) co_return c->settle(failure(errc::not_running));
    obeyed_ = c;
    auto outcome = co_await done_as_told(*c);
    obeyed_.reset();
    if (!outcome && c->unwanted) outcome = failure(errc::cancelled);
    c->settle(std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<void>> session::done_as_told(control const& c) {
    if (c.what == order::start) {
        stopped_by_request_ = false;
        auto ready = co_await ensure_kernel();
        if (!ready) co_return failure(ready);
        co_return result<void>();
    }
    co_await let_kernel_end();
    co_await stop_kernel();
    co_await actions_->stop_servers();
    stopped_by_request_ = c.what == order::stop;
    if (c.what == order::reset) co_return co_await start_kernel();
    co_await host_.release();
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<void> session::run(std::shared_ptr<execution> e) {
    current_ = e;
    inbox_.clear();
    auto outcome = co_await perform(e);
    current_.reset();
    // What came behind the end of the execution is not lost.
    while (auto rest = co_await inbox_.pop(std::chrono::steady_clock::time_point::min()))
        if (auto* m = std::get_if<jupyter::message>(&*rest)) keep_for_later(std::move(*m));
    resume_receiving();
    e->settle(std::move(outcome));
}

IPYBOX_DECL asio::awaitable<result<execution_result>> session::perform(std::shared_ptr<execution> e) {
    if (e->finishes && (state_ != kernel_state::idle || deserted_)) {
        co_await stop_kernel();
        co_return execution_result();
    }
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
    if (!started && started.error() == errc::supervisor_died && !host_.shares()) started = co_await start_link();
    if (!started) co_return started;
    state_ = kernel_state::idle;
    death_.reset();
    receiving_ = true;
    auto const life = ++life_;
    asio::co_spawn(executor_, receive(shared_from_this(), life),
                   [self = shared_from_this(), life](std::exception_ptr bug) { self->on_received(life, bug); });
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<result<void>> session::start_link() {
    if (start_unwanted()) co_return failure(errc::cancelled);
    starting_ = true;
    start_abandoned_ = false;
    seen_->begin();
    auto started = co_await start_under_supervisor();
    starting_ = false;
    if (started && !start_abandoned_) {
        actions_->serve(link_->kernel());
        co_return started;
    }
    co_await link_->stop();
    if (start_abandoned_) co_return failure(errc::not_running);
    co_await host_.release();
    co_return started;
}

IPYBOX_DECL asio::awaitable<result<void>> session::start_under_supervisor() {
    auto owner = result<std::shared_ptr<supervisor>>(nullptr);
    if (link_->needs_supervisor()) owner = co_await host_.obtain();
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
    host_.abandon_search();
    auto const stop = [self = shared_from_this()]() -> asio::awaitable<void> { co_await self->link_->stop(); };
    asio::co_spawn(executor_, stop, asio::detached);
}

IPYBOX_DECL supervisor_options session::own_supervisor() const {
    supervisor_options own;
    own.python = options_.python;
    own.env = kernel_environment(options_.kernel_env);
    own.working_dir = launch().working_dir;
    own.wrap = wrap_;
    own.duty = link_->duty();
    own.preload = options_.preload;
    own.allow = options_.allow;
    auto const servers = actions_->servers().files();
    own.read_only = options_.read_only;
    own.read_only.insert(own.read_only.end(), servers.read_only.begin(), servers.read_only.end());
    own.hidden = options_.hidden;
    own.hidden.insert(own.hidden.end(), servers.secret.begin(), servers.secret.end());
    return own;
}

IPYBOX_DECL kernel_launch session::launch() const {
    kernel_launch l;
    l.env = kernel_environment(options_.kernel_env);
    l.working_dir = directory_or(options_.working_dir, ".");
    l.after_cell = options_.after_cell.value_or(options_.working_dir.empty() ? cwd_policy::keep : cwd_policy::restore);
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
    if (!options_.argv.empty()) prepared.env["IPYBOX_ARGV"] = json_text(jupyter::json(options_.argv));
    prepared.guard = options_.require_shell_escape ? kernel_guard::no_exec : kernel_guard::none;
    prepared.allow = options_.allow;
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
    co_await receiving_ends(std::chrono::steady_clock::now() + std::chrono::seconds(2));
    ++life_; // what still comes from that kernel is not heard
    late_ = late_output();
    inbox_.clear();
    deserted_ = false;
}

/// Gives a kernel that runs nothing the time to end by itself: its files are flushed, what it has registered is run. It is stopped afterwards in any case.
IPYBOX_DECL asio::awaitable<void> session::let_kernel_end() {
    auto const grace = countable(options_.end_grace);
    if (state_ != kernel_state::idle || deserted_ || grace.count() <= 0) co_return;
    state_ = kernel_state::stopped; // its end is what is wanted
    resume_receiving();
    auto const bound = std::chrono::steady_clock::now() + grace;
    auto const asked = co_await within(ask_to_end(link_), grace);
    if (asked && *asked) co_await receiving_ends(bound);
}

/// Keeps the link, also beyond the bound of the one who waits.
IPYBOX_DECL asio::awaitable<result<void>> session::ask_to_end(std::shared_ptr<kernel_link> link) {
    co_return co_await link->ask_to_end();
}

/// Waits until the kernel has hung up, within a bound.
IPYBOX_DECL asio::awaitable<void> session::receiving_ends(std::chrono::steady_clock::time_point bound) {
    while (receiving_ && std::chrono::steady_clock::now() < bound) {
        receiving_changed_.expires_at(bound);
        asio::error_code changed;
        co_await receiving_changed_.async_wait(asio::redirect_error(asio::use_awaitable, changed));
    }
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

IPYBOX_DECL asio::awaitable<void> session::receive(std::shared_ptr<session> self, unsigned life) {
    for (;;) {
        while (self->receiving_paused_ && self->life_ == life) {
            self->receiving_changed_.expires_at(std::chrono::steady_clock::time_point::max());
            asio::error_code changed;
            co_await self->receiving_changed_.async_wait(asio::redirect_error(asio::use_awaitable, changed));
        }
        auto m = co_await self->link_->receive();
        if (self->life_ != life) co_return; // it took long, and there is another kernel by now
        if (!m) {
            bool const lost = self->state_ != kernel_state::stopped;
            self->on_end(std::move(m).error());
            self->receiving_ = false;
            self->receiving_changed_.cancel();
            // One that broke the protocol, or closed its end of the socket, may still run.
            if (lost) co_await self->link_->stop();
            co_return;
        }
        if (self->current_)
            self->inbox_.push(std::move(*m));
        else
            self->keep_for_later(std::move(*m));
    }
}

/// What comes between two executions.
IPYBOX_DECL void session::keep_for_later(jupyter::message m) {
    auto const number = m.number;
    late_.keep(std::move(m));
    seen_->saw(number);
}

/// A kernel whose messages cannot be taken, for want of memory, say, is of no use any more.
IPYBOX_DECL void session::on_received(unsigned life, std::exception_ptr bug) {
    if (!bug || life != life_) return;
    auto const why = error_of(bug);
    on_end(error(errc::kernel_died, "a message of the kernel could not be taken, and it was ended: " + why.text()));
    receiving_ = false;
    receiving_changed_.cancel();
    auto const stop = [self = shared_from_this()]() -> asio::awaitable<void> { co_await self->link_->stop(); };
    asio::co_spawn(executor_, stop, asio::detached);
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
