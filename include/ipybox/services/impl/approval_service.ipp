#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/gate/approval_settings.hpp>
#include <ipybox/services/approval_service.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/session_services.hpp>
#include <ipybox/session/session_settings.hpp>

#include <chrono>
#include <utility>

namespace ipybox::detail {

/// How long a question waits for what was printed before it. It has been sent before, and only has to be read.
inline constexpr std::chrono::seconds time_for_output{1};

inline approval_settings approval_settings_of(executor_options::approval_options const& options) {
    approval_settings settings;
    settings.approve_tool_calls = options.tool_calls;
    settings.approve_shell_cmds = options.shell_cmds;
    settings.approval_timeout = options.timeout;
    settings.calls_per_cell = options.calls_per_cell;
    settings.repeated = options.repeated;
    settings.rules = options.rules;
    settings.audit = options.audit;
    settings.audit_session = options.audit_session;
    return settings;
}

IPYBOX_DECL std::shared_ptr<approval_service> approval_service::make(session_services& session) {
    return std::make_shared<approval_service>(session);
}

IPYBOX_DECL approval_service::approval_service(session_services const& session)
    : policy_(session.policy()), seen_(session.seen()),
      gate_(approval_settings_of(session.settings()->options().approval),
            [this](std::chrono::steady_clock::time_point at) {
                if (cell_->waiting) cell_->waiting(gate_.waiting(cell_->id), at);
            }) {}

IPYBOX_DECL void approval_service::close() {
    gate_.cancel_code();
    interpreter_.clear();
}

IPYBOX_DECL void approval_service::end_cell() {
    if (cell_ == no_cell_) return; // an execution without code
    gate_.cancel_cell(cell_->id);
    cell_ = no_cell_;
}

/// The kernel's statements about its cell are not trusted: it could get a fresh budget with each request.
IPYBOX_DECL void approval_service::name_asker(approval_subject& subject) const {
    auto const& cell = subject.of_application ? *no_cell_ : *cell_;
    subject.id = approval_gate::fresh_id();
    subject.cell_id = cell.id;
    subject.code = cell.code;
}

IPYBOX_DECL asio::awaitable<verdict> approval_service::approve(approval_subject& subject, std::uint64_t after) {
    name_asker(subject);
    return decide(subject, cell_->approval ? *cell_->approval : *policy_, after);
}

IPYBOX_DECL asio::awaitable<verdict> approval_service::decide(approval_subject& subject, any_approval policy,
                                                              std::uint64_t after) {
    if (!subject.argv.empty()) subject.interpreter = interpreter_;
    if (subject.kind == approval_subject::action::tool) subject.annotations = annotations_;
    if (!policy && cell_->events) {
        auto const ask_reader = [events = cell_->events](approval_request request) {
            events->push(std::move(request));
        };
        policy = any_approval(ask_reader);
    }
    approval_gate::preparation output_is_seen;
    if (!seen_->has(after))
        output_is_seen = [seen = seen_, after] { return seen_messages::reach(seen, after, time_for_output); };
    return gate_.decide(subject, std::move(policy), std::move(output_is_seen));
}

IPYBOX_DECL verdict approval_service::settle(approval_subject& subject, verdict said) {
    name_asker(subject);
    return gate_.settle(subject, std::move(said));
}

IPYBOX_DECL asio::awaitable<result<std::uint64_t>> approval_service::approve_own(std::shared_ptr<approval_service> self,
                                                                                 approval_subject subject) {
    constexpr std::uint64_t after_nothing = 0;
    subject.of_application = true;
    self->name_asker(subject);
    auto const said = co_await self->decide(subject, *self->policy_, after_nothing);
    if (!said.accepted()) co_return failure(said.refusal());
    co_return subject.id;
}

/// A finished action cannot be undone: a log that cannot be written rejects the next action.
IPYBOX_DECL void approval_service::record(std::uint64_t id, action_outcome const& how) {
    (void)gate_.finished(id, how);
}

} // namespace ipybox::detail
