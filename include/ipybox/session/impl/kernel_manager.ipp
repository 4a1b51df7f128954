#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/async/with_timeout.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/kernel_listener.hpp>
#include <ipybox/session/kernel_manager.hpp>
#include <ipybox/session/protection_check.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <chrono>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL kernel_manager::kernel_manager(std::shared_ptr<session_services> services, launch_wrapper wrap,
                                           std::shared_ptr<kernel_host> const& shared,
                                           std::shared_ptr<kernel_link> link)
    : services_(std::move(services)), executor_(services_->executor()), settings_(services_->settings()),
      seen_(services_->seen()), link_(std::move(link)) {
    auto const own = [settings = settings_, wrap = std::move(wrap), facts = link_->facts(),
                      demands = services_->demands()] {
        auto options = settings->supervisor(wrap, facts);
        demands->add_to(options);
        return options;
    };
    host_ = shared ? kernel_host::share(shared, own) : std::make_shared<kernel_host>(executor_, own);
}

IPYBOX_DECL std::function<std::vector<unprotected_file>()> kernel_manager::unprotected_files() const {
    auto const cure =
        host_->shares() ? unprotected_file::protection::runtime_options : unprotected_file::protection::next_kernel;
    return [settings = settings_, demands = services_->demands(), confinement = host_->confinement(), cure] {
        std::vector<protection_wish> wishes;
        for (auto const& path : settings->options().sandbox.read_only) wishes.push_back({path});
        demands->list(wishes);
        auto const around = confinement();
        auto reach = settings->programs()->reach();
        if (reach.empty()) reach.add(os::code_reach({around.working_dir})); // without a sandbox
        return unfulfilled(wishes, std::move(reach), around, cure);
    };
}

// --- the start -----------------------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<result<kernel_freshness>> kernel_manager::ensure() {
    if (life_.is_idle()) co_return kernel_freshness::kept;
    if (life_.is_closed()) co_return failure(errc::not_running);
    if (life_.is_stopped_on_request())
        co_return failure(errc::not_running, "the executor was stopped; start() brings a fresh kernel");
    auto const* const death = life_.death();
    if (death && !settings_->options().kernel.restart_dead) {
        auto text = death->text() + "; reset() brings a fresh one, kernel.restart_dead does it by itself";
        co_return failure(error(errc::kernel_died, std::move(text)).with_status(death->status()));
    }
    life_.start();
    auto const freshness = life_.replaces_another() ? kernel_freshness::fresh : kernel_freshness::kept;
    auto started = co_await start();
    if (!started) co_return failure(started);
    co_return freshness;
}

/// The supervisor of a runtime is not started again: one executor would do so without the others.
inline error end_of_runtime(error const& why) {
    auto text = why.text() + "; the executors' runtime has ended with it: make another runtime, and executors on that";
    return error(errc::supervisor_died, std::move(text)).with_status(why.status());
}

IPYBOX_DECL asio::awaitable<result<void>> kernel_manager::start() {
    life_.start();
    if (life_.replaces_another()) co_await end();
    auto started = co_await start_link();
    // A supervisor that died since its last kernel is found out here; a fresh one is as good.
    if (!started && started.error() == errc::supervisor_died) {
        // Not a conditional expression: with a co_await in one, GCC 12 damages memory.
        if (host_->shares())
            started = failure(end_of_runtime(started.error()));
        else
            started = co_await start_link();
    }
    if (!started) life_.start_failed(started.error());
    co_return started;
}

IPYBOX_DECL asio::awaitable<result<void>> kernel_manager::start_link() {
    if (life_.start_is_abandoned()) co_return failure(errc::not_running);
    seen_->begin();
    auto prepared = prepare_launch();
    if (!prepared) co_return failure(prepared);
    auto started = co_await link_->start(host_, std::move(*prepared));
    if (started)
        if (auto served = services_->can_serve(link_->kernel()); !served) started = failure(served);
    if (started && life_.started()) {
        services_->serve({link_->kernel(), reach_in(settings_->programs()->reach(), host_->confinement()())});
        listen();
        co_return result<void>();
    }
    co_await link_->stop();
    if (life_.start_is_abandoned()) co_return failure(errc::not_running);
    co_await host_->release();
    co_return failure(started);
}

IPYBOX_DECL result<kernel_launch> kernel_manager::prepare_launch() {
    services_->make_offered();
    services_->close();
    if (auto allowed = settings_->allows(link_->facts()); !allowed) return failure(allowed);
    if (auto whole = services_->do_what_options_say(); !whole) return failure(whole);
    auto launch = settings_->kernel(link_->facts());
    if (!link_->facts().carries_actions) return launch;
    if (auto prepared = services_->prepare(launch); !prepared) return failure(prepared);
    return launch;
}

IPYBOX_DECL void kernel_manager::abandon_start() {
    if (!life_.abandon_start()) return;
    host_->abandon_search();
    stop_link_of(life_.current());
}

// --- the end -------------------------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<void> kernel_manager::let_end() {
    bool const runs_nothing = life_.is_idle();
    life_.stop();
    auto const grace = settings_->end_grace();
    if (!runs_nothing || grace.count() <= 0) co_return;
    auto const listener = listener_;
    listener->resume();
    auto const bound = std::chrono::steady_clock::now() + grace;
    auto const asked = co_await with_timeout(ask_to_end(link_), grace);
    if (asked && *asked) co_await listener->ends_by(bound);
}

IPYBOX_DECL asio::awaitable<result<void>> kernel_manager::ask_to_end(std::shared_ptr<kernel_link> link) {
    co_return co_await link->ask_to_end();
}

IPYBOX_DECL asio::awaitable<void> kernel_manager::end() {
    services_->close();
    auto const listener = std::exchange(listener_, nullptr);
    if (listener) listener->drop_rest();
    co_await link_->stop();
    if (listener) {
        co_await listener->ends_by(std::chrono::steady_clock::now() + std::chrono::seconds(2));
        listener->leave();
    }
    if (auto const who = observer_.lock()) who->on_gone();
}

IPYBOX_DECL void kernel_manager::died(kernel_lifecycle::generation which, error const& why) {
    if (!life_.died(which, why)) return;
    services_->close();
    if (auto const who = observer_.lock()) who->on_death(why);
    // One that broke the protocol, or closed its end of the socket, may still run.
    stop_link_of(which);
}

IPYBOX_DECL asio::awaitable<void> kernel_manager::release_host() { return host_->release(); }

IPYBOX_DECL void kernel_manager::end_from_outside() {
    host_->end();
    services_->abandon();
}

/// Ends a kernel beside all else. By then another one may have taken its place.
IPYBOX_DECL void kernel_manager::stop_link_of(kernel_lifecycle::generation which) {
    auto const stop = [](std::shared_ptr<kernel_manager> self,
                         kernel_lifecycle::generation ended) -> asio::awaitable<void> {
        if (self->life_.current() == ended) co_await self->link_->stop();
    };
    spawn(executor_, stop(shared_from_this(), which)); // no call waits for it, and the next end or start stops again
}

// --- listening -----------------------------------------------------------------------------------------------------------

IPYBOX_DECL void kernel_manager::listen() {
    // Weak: the listener is ours.
    auto const pass_on = [weak = weak_from_this(), which = life_.current()](jupyter::message m) {
        auto const self = weak.lock();
        auto const who = self ? self->observer_.lock() : nullptr;
        if (who && self->life_.current() == which) who->on_message(std::move(m));
    };
    auto const end = [weak = weak_from_this(), which = life_.current()](error const& why) {
        if (auto const self = weak.lock()) self->died(which, why);
    };
    listener_ = std::make_shared<kernel_listener>(executor_, link_, pass_on, end);
    listener_->begin();
}

IPYBOX_DECL void kernel_manager::pause() {
    if (listener_) listener_->pause();
}

IPYBOX_DECL void kernel_manager::resume() {
    if (listener_) listener_->resume();
}

} // namespace ipybox::detail
