#pragma once

#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/callback_approval.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox {

/**
 * \brief Any approval policy, by value; without one it rejects.
 * \details Made of a policy, of a callback in one of the three shapes, or of a type that `approval_traits` is specialised
 * for. Copies share the policy, which stays alive while it decides.
 * \par Thread safety Distinct objects: safe, as far as the shared policy is.
 */
class any_approval {
  public:
    /// Rejects everything.
    any_approval() = default;

    /// From an approval policy or an approval callback.
    template <class T>
        requires(!std::same_as<std::remove_cvref_t<T>, any_approval>)
    any_approval(T&& approval) {
        static_assert(detail::require_approval<std::decay_t<T>>());
        if constexpr (approval_policy<std::decay_t<T>> || approval_callback<std::decay_t<T>>) {
            using policy = approval_for<std::decay_t<T>>;
            policy_ = std::make_shared<policy>(std::forward<T>(approval));
            ask_ = &detail::ask<policy>;
        }
    }

    /// True when there is a policy.
    explicit operator bool() const noexcept { return policy_ != nullptr; }

    /// Puts the request itself to the policy: the answer arrives there, perhaps later. A policy that answers by a coroutine needs what is returned to be
    /// awaited.
    [[nodiscard]] std::optional<asio::awaitable<void>> ask(approval_request request) const {
        return detail::put_to(ask_, policy_, std::move(request));
    }

    /// Asks the policy.
    [[nodiscard]] asio::awaitable<decision> decide(approval_request request) const {
        return detail::decide_by(ask_, policy_, std::move(request));
    }

  private:
    std::shared_ptr<void> policy_;
    detail::approval_reply (*ask_)(void*, approval_request&&) = nullptr;
};

static_assert(approval_policy<any_approval>);

} // namespace ipybox
