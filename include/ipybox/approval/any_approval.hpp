#pragma once

#include <ipybox/approval/approval_policy.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace ipybox {

struct stream_reader_approval;

/**
 * \brief Any approval policy, by value. Without one it is `stream_reader_approval`: in an executor the reader of the
 * stream decides, elsewhere it rejects.
 * \details Made of a policy, of a callback in one of the three shapes, or of a type that `approval_traits` is
 * specialised for. Copies share the policy, which stays alive while it decides.
 * \par Thread safety Distinct objects: safe, as far as the shared policy is.
 */
class any_approval {
  public:
    /// The same as `any_approval(stream_reader_approval())`.
    any_approval() = default;

    /// Copies share the policy. Moving copies: what was moved from stays as it was.
    any_approval(any_approval const&) = default;
    /// As the constructor.
    any_approval& operator=(any_approval const&) = default;
    ~any_approval() = default;

    /// From an approval policy or an approval callback.
    template <class T>
        requires(!std::same_as<std::remove_cvref_t<T>, any_approval>)
    any_approval(T&& approval) {
        static_assert(detail::require_approval<std::decay_t<T>>());
        if constexpr (approval_policy<std::decay_t<T>> || detail::approval_callback<std::decay_t<T>>)
            *this = holding(std::make_shared<std::decay_t<T>>(std::forward<T>(approval)));
    }

    /// From a policy that others may hold too.
    template <approval_policy Policy>
    [[nodiscard]] static any_approval sharing(std::shared_ptr<Policy> policy) {
        if constexpr (std::same_as<Policy, any_approval>)
            return *policy;
        else
            return holding(std::move(policy));
    }

    /// False where the reader of a stream decides.
    explicit operator bool() const noexcept { return policy_ != nullptr; }

    /// Puts the request itself to the policy: the answer arrives there, perhaps later. A policy that answers by a
    /// coroutine needs what is returned to be awaited.
    [[nodiscard]] std::optional<asio::awaitable<void>> ask(approval_request request) const {
        return detail::put_to(ask_, policy_, std::move(request));
    }

    /// The policy returns a plain `decision`: `decide_now` asks it. Its type says so.
    [[nodiscard]] bool decides_at_once() const noexcept { return decides_at_once_; }

    /// Asks such a policy, without a coroutine. Without a policy it rejects.
    [[nodiscard]] decision decide_now(approval_request request) const {
        return detail::decision_of(ask_, policy_.get(), std::move(request));
    }

    /// Asks the policy.
    [[nodiscard]] asio::awaitable<decision> decide(approval_request request) const {
        return detail::decide_by(ask_, policy_, std::move(request));
    }

  private:
    /// Of a policy or a callback.
    template <class P>
    static any_approval holding(std::shared_ptr<P> policy) {
        any_approval made;
        if constexpr (!std::same_as<P, stream_reader_approval>) {
            made.policy_ = std::move(policy);
            made.ask_ = &detail::ask<P>;
            made.decides_at_once_ = detail::decides_at_once<P>;
        }
        return made;
    }

    std::shared_ptr<void> policy_;
    detail::returned_decision (*ask_)(void*, approval_request&&) = nullptr;
    bool decides_at_once_ = false;
};

static_assert(approval_policy<any_approval>);

} // namespace ipybox
