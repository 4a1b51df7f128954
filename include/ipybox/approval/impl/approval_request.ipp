#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/decision_state.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/core/never_destroyed.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <nlohmann/json.hpp>

#include <ostream>
#include <utility>

namespace ipybox {
namespace detail {

/// Shared by all copies of a request.
class approval_handle {
  public:
    approval_handle() : state_(std::make_shared<decision_state>()) {}
    approval_handle(approval_handle const&) = delete;
    approval_handle& operator=(approval_handle const&) = delete;
    ~approval_handle() { state_->decide(decision::reject("the approval request was dropped without an answer")); }

    std::shared_ptr<decision_state> const& state() const noexcept { return state_; }

  private:
    std::shared_ptr<decision_state> state_;
};

} // namespace detail

IPYBOX_DECL approval_request::approval_request(approval_subject subject)
    : approval_request(std::make_shared<approval_subject const>(std::move(subject))) {}

IPYBOX_DECL approval_request::approval_request(std::shared_ptr<approval_subject const> subject)
    : subject_(std::move(subject)), handle_(std::make_shared<detail::approval_handle const>()) {}

IPYBOX_DECL nlohmann::ordered_json const& approval_request::arguments() const {
    static auto const& none = detail::never_destroyed<nlohmann::ordered_json>();
    return subject_->arguments ? *subject_->arguments : none;
}

IPYBOX_DECL detail::shell_line approval_request::commands() const { return detail::commands_of(*subject_); }

IPYBOX_DECL bool approval_request::accept() const { return answer(decision::accept()); }

IPYBOX_DECL bool approval_request::accept_commands() const { return answer(decision::accept_commands()); }

IPYBOX_DECL bool approval_request::accept(nlohmann::ordered_json edited_arguments) const {
    return answer(decision::accept(std::move(edited_arguments)));
}

IPYBOX_DECL bool approval_request::accept_and_grant(grant const& given) const {
    return answer(decision::accept().and_grant(given));
}

IPYBOX_DECL bool approval_request::reject(std::string reason, decision::when_repeated again) const {
    return answer(decision::reject(std::move(reason), again));
}

IPYBOX_DECL bool approval_request::answer(decision decision) const {
    if (!handle_) return false; // moved from
    if (decision.edited_arguments() && !subject_->arguments) {
        decision = decision::reject("accepted with edited arguments, but a " + std::string(detail::words_of(kind())) +
                                    " has none");
    }
    if (auto const line = decision.by_commands() ? commands() : detail::shell_line(); !line.understood())
        decision = decision::reject("accepted for its commands, but the line was not understood: " + *line.not_clear);
    return handle_->state()->decide(std::move(decision));
}

IPYBOX_DECL std::optional<decision> approval_request::decided() const {
    return handle_ ? handle_->state()->decided() : std::nullopt; // none: moved from
}

IPYBOX_DECL void approval_request::on_decided(std::function<void(decision)> told) const {
    if (handle_) handle_->state()->on_decided(std::move(told));
}

IPYBOX_DECL std::shared_ptr<detail::decision_state> detail::state_of(approval_request const& request) {
    return request.handle_ ? request.handle_->state() : nullptr;
}

IPYBOX_DECL std::ostream& operator<<(std::ostream& out, approval_request const& request) {
    return out << safe_text::of(*request.subject_).text();
}

} // namespace ipybox
