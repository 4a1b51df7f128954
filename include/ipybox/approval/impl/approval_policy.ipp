#pragma once

#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/await_decision.hpp>
#include <ipybox/approval/decision_state.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ipybox::detail {

/// Of the exception that is being handled: what a policy has thrown rejects.
inline void reject_for_exception(approval_request& request) {
    std::string thrown = "an exception of unknown type";
    try {
        throw;
    } catch (std::exception const& e) { thrown = e.what(); } catch (...) {
    }
    request.reject("the approval policy failed: " + thrown);
}

IPYBOX_DECL decision decision_of(returned_decision (*ask)(void*, approval_request&&), void* policy,
                                 approval_request request) {
    if (ask == nullptr) return decision::reject();
    auto given = request;
    try {
        auto reply = ask(policy, std::move(given));
        if (auto* made = std::get_if<decision>(&reply)) request.answer(std::move(*made));
    } catch (...) { reject_for_exception(request); }
    return request.decided().value_or(decision::reject()); // the policy may have answered before, through the request
}

/// Answers with what a policy's coroutine returns. The policy and what it was given stay alive until then.
inline asio::awaitable<void> answer_later(std::shared_ptr<void> /*policy*/, std::shared_ptr<approval_request> /*given*/,
                                          asio::awaitable<decision> later, approval_request request) {
    try {
        auto made = co_await std::move(later);
        request.answer(std::move(made));
    } catch (...) { reject_for_exception(request); }
}

IPYBOX_DECL std::optional<asio::awaitable<void>> put_to(returned_decision (*ask)(void*, approval_request&&),
                                                        std::shared_ptr<void> policy, approval_request request) {
    if (!policy) {
        request.reject(
            "this application has no approval policy: give its executor one, or answer the requests in stream()");
        return std::nullopt;
    }
    try {
        auto given = std::make_shared<approval_request>(request);
        auto reply = ask(policy.get(), std::move(*given));
        if (auto* later = std::get_if<asio::awaitable<decision>>(&reply))
            return answer_later(std::move(policy), std::move(given), std::move(*later), std::move(request));
        if (auto* now = std::get_if<decision>(&reply)) request.answer(std::move(*now));
    } catch (...) { reject_for_exception(request); }
    return std::nullopt;
}

IPYBOX_DECL asio::awaitable<decision> decide_by(returned_decision (*ask)(void*, approval_request&&),
                                                std::shared_ptr<void> policy, approval_request request) {
    approval_request own(request.subject());
    auto const state = state_of(own);
    auto later = put_to(ask, std::move(policy), std::move(own));
    if (later) co_await std::move(*later);
    if (auto settled = state->decided()) co_return *std::move(settled);
    auto const cancelled = [state] { state->decide(decision::reject("the approval was cancelled")); };
    auto pending = await_decision(state, cancelled);
    co_return co_await std::move(pending);
}

} // namespace ipybox::detail
