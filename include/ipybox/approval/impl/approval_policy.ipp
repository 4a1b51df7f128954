#pragma once

#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/impl/await_answer.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace ipybox::detail {

IPYBOX_DECL asio::awaitable<void> put_to(approval_reply (*ask)(void*, approval_request&&), std::shared_ptr<void> policy,
                                         approval_request request) {
    if (!policy) {
        request.reject("this application has no approval policy");
        co_return;
    }
    std::optional<std::string> thrown;
    try {
        auto given = request;
        auto reply = ask(policy.get(), std::move(given));
        if (auto* later = std::get_if<asio::awaitable<decision>>(&reply)) {
            auto made = co_await std::move(*later);
            request.answer(std::move(made));
        } else if (auto* now = std::get_if<decision>(&reply)) {
            request.answer(std::move(*now));
        }
    } catch (std::exception const& e) { thrown = e.what(); } catch (...) {
        thrown = "an exception of unknown type";
    }
    if (thrown) request.reject("the approval policy failed: " + *thrown);
}

IPYBOX_DECL asio::awaitable<decision> decide_by(approval_reply (*ask)(void*, approval_request&&),
                                                std::shared_ptr<void> policy, approval_request request) {
    approval_request own(request.subject());
    auto const answer = own.pending_answer();
    auto asking = put_to(ask, std::move(policy), std::move(own));
    co_await std::move(asking);
    if (auto settled = answer->decided()) co_return *std::move(settled);
    auto const cancelled = [answer] { answer->decide(decision::reject("the approval was cancelled")); };
    auto pending = await_answer(answer, cancelled);
    co_return co_await std::move(pending);
}

} // namespace ipybox::detail
