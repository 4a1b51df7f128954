#pragma once

#include <ipybox/execution_stream.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/impl/wait_for.hpp>
#include <ipybox/session/execution.hpp>
#include <ipybox/session/job_core.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/value_request.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ipybox {

IPYBOX_DECL executor_base::executor_base(std::shared_ptr<detail::session_handle> session) noexcept
    : session_(std::move(session)) {}

IPYBOX_DECL executor_base::executor_base(executor_base&& other) noexcept
    : session_(std::exchange(other.session_, detail::session_handle::closed())) {}

IPYBOX_DECL executor_base& executor_base::operator=(executor_base&& other) noexcept {
    if (this == &other) return *this;
    auto const old = std::exchange(session_, std::exchange(other.session_, detail::session_handle::closed()));
    old->close();
    return *this;
}

IPYBOX_DECL executor_base::~executor_base() { session_->close(); }

IPYBOX_DECL result<void> executor_base::start() {
    return detail::wait_for<void>(*session_, [this](auto done) { submit_start(session_, std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::interrupt() {
    return detail::wait_for<void>(*session_, [this](auto done) { submit_interrupt(session_, std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::reset() {
    return detail::wait_for<void>(*session_, [this](auto done) { submit_reset(session_, std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::stop() {
    return detail::wait_for<void>(*session_, [this](auto done) { submit_stop(session_, std::move(done)); });
}

IPYBOX_DECL result<execution_result> executor_base::execute(std::string code, execute_options options) {
    return detail::wait_for<execution_result>(
        *session_, [&](auto done) { submit_execute(session_, std::move(code), std::move(options), std::move(done)); });
}

IPYBOX_DECL execution_stream executor_base::stream(std::string code, execute_options options) {
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options.timeout = options.timeout;
    e->options.on_input = std::move(options.on_input);
    e->options.title = std::move(options.title);
    e->options.approval = std::move(options.approval);
    e->chunks = options.chunks;
    return read_events_of(std::move(e));
}

IPYBOX_DECL job executor_base::submit(std::string code, execute_options options) {
    auto const core = std::make_shared<detail::job_core>(std::to_string(session_->next_job()), session_);
    auto const ended = [core](result<execution_result> outcome) {
        auto waits = core->end(std::move(outcome));
        auto const session = waits.empty() ? nullptr : core->session();
        if (session) session->post([waits = std::move(waits)](detail::session& s) { s.forget(waits); });
    };
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options = std::move(options);
    e->done = detail::completion<result<execution_result>>(detail::called_in_place{ended});
    e->job = core;
    core->stands_for(e);
    session_->submit(e);
    return job(core);
}

IPYBOX_DECL result<json_value> executor_base::get(std::string name) {
    return detail::wait_for<json_value>(*session_,
                                        [&](auto done) { submit_get(session_, std::move(name), std::move(done)); });
}

IPYBOX_DECL result<void> executor_base::put(std::string name, nlohmann::ordered_json const& value) {
    return put_text(std::move(name), json_of(value));
}

IPYBOX_DECL result<void> executor_base::put_text(std::string name, result<std::string> json) {
    return detail::wait_for<void>(
        *session_, [&](auto done) { submit_put(session_, std::move(name), std::move(json), std::move(done)); });
}

IPYBOX_DECL result<std::string> executor_base::json_of(nlohmann::ordered_json const& value) {
    return detail::text_of(value);
}

IPYBOX_DECL result<std::string> executor_base::json_of(nlohmann::json const& value) { return detail::text_of(value); }

namespace detail {

/// Asks the kernel for a value: an expression of value_request.hpp. \tparam T json_value, or void
template <class T>
void ask_for_value(session_handle& session, std::string expression, completion<result<T>> done) {
    auto const slot = done.slot();
    auto const answered = std::make_shared<completion<result<T>>>(std::move(done));
    auto const pass_on = [answered](result<execution_result> came) {
        if (!came) return (*answered)(result<T>(failure(came)));
        if constexpr (std::is_void_v<T>)
            (*answered)(result<T>());
        else
            (*answered)(result<T>(std::move(came->value)));
    };
    auto const e = std::make_shared<execution>();
    e->value_expression = std::move(expression);
    e->of_value = true;
    e->done = completion<result<execution_result>>(called_in_place{pass_on});
    session.submit(e, slot);
}

} // namespace detail

IPYBOX_DECL void executor_base::submit_get(session_ptr const& s, std::string name,
                                           detail::completion<result<json_value>> done) {
    auto expression = detail::get_expression(name);
    if (!expression) return done(failure(expression));
    detail::ask_for_value(*s, std::move(*expression), std::move(done));
}

IPYBOX_DECL void executor_base::submit_put(session_ptr const& s, std::string name, result<std::string> json,
                                           detail::completion<result<void>> done) {
    if (!json) return done(failure(json));
    auto expression = detail::put_expression(name, *json);
    if (!expression) return done(failure(expression));
    detail::ask_for_value(*s, std::move(*expression), std::move(done));
}

IPYBOX_DECL execution_stream executor_base::finish() {
    auto e = std::make_shared<detail::execution>();
    e->finishes = true;
    return read_events_of(std::move(e));
}

/// Submits an execution whose outcome is the last event of a stream.
IPYBOX_DECL execution_stream executor_base::read_events_of(std::shared_ptr<detail::execution> e) {
    auto const may_block = [weak = std::weak_ptr(session_)]() -> result<void> {
        auto const session = weak.lock();
        if (!session) return {};
        if (auto turn = session->may_wait_for_turn(); !turn) return turn;
        return session->may_block();
    };
    e->events = std::make_shared<detail::event_queue>(session_, may_block);
    auto const go_on = [weak = std::weak_ptr(session_)] {
        if (auto const session = weak.lock()) session->post([](detail::session& s) { s.resume_listening(); });
    };
    e->events->on_reader(go_on, session_->forgetting(e));
    execution_stream reader(e->events);
    session_->submit(e);
    return reader;
}

IPYBOX_DECL std::vector<detail::unprotected_file> executor_base::unprotected_files() const {
    return session_->unprotected_files();
}

IPYBOX_DECL void executor_base::cancel() {
    session_->post([](detail::session& s) { s.unwant_all({errc::cancelled}); });
}

IPYBOX_DECL detail::kernel_state executor_base::state() const noexcept { return session_->state(); }
IPYBOX_DECL asio::any_io_executor executor_base::get_executor() const { return session_->executor(); }

IPYBOX_DECL asio::awaitable<result<execution_result>> executor_base::async_execute(std::string code) {
    return async_execute(std::move(code), execute_options(), asio::use_awaitable_t<>());
}

IPYBOX_DECL void executor_base::submit_start(session_ptr const& s, detail::completion<result<void>> done) {
    auto const slot = done.slot();
    s->submit(std::make_shared<detail::kernel_order>(detail::kernel_order::kind::start, std::move(done)), slot);
}
IPYBOX_DECL void executor_base::submit_interrupt(session_ptr const& s, detail::completion<result<void>> done) {
    auto const interrupt = [](detail::session& session, auto const& call) { session.interrupt(call); };
    s->ask(std::move(done), interrupt);
}
IPYBOX_DECL void executor_base::submit_reset(session_ptr const& s, detail::completion<result<void>> done) {
    auto const slot = done.slot();
    s->submit(std::make_shared<detail::kernel_order>(detail::kernel_order::kind::reset, std::move(done)), slot);
}
IPYBOX_DECL void executor_base::submit_stop(session_ptr const& s, detail::completion<result<void>> done) {
    // Not for changing one's mind: with the request the executions have ended already.
    s->submit(std::make_shared<detail::kernel_order>(detail::kernel_order::kind::stop, std::move(done)));
}

IPYBOX_DECL void executor_base::submit_execute(session_ptr const& s, std::string code, execute_options options,
                                               detail::completion<result<execution_result>> done) {
    auto e = std::make_shared<detail::execution>();
    e->code = std::move(code);
    e->options = std::move(options);
    e->done = std::move(done);
    s->submit(e, e->done.slot());
}

IPYBOX_DECL detail::executor_lender const& executor_base::lender_of(detail::session_handle const& s) { return s; }

} // namespace ipybox
