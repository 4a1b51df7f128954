#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>

#include <asio/awaitable.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace ipybox {
namespace detail {

/// How a policy answers: with a decision now, with one later, or through the request.
template <class T>
concept decision_shape =
    std::same_as<T, decision> || std::same_as<T, asio::awaitable<decision>> || std::same_as<T, void>;

template <class P>
concept has_decide = requires(P& policy, approval_request request) {
    { policy.decide(std::move(request)) } -> decision_shape;
};

} // namespace detail

/**
 * \brief How an approval policy is used; the primary template forwards to its members.
 * \details Specialise it to make an approval policy of a type that is not yours. `decide` may take the request by value
 * or by reference to const:
 * \code
 * template <> struct ipybox::approval_traits<their::dialog> {
 *     static decision decide(their::dialog& dialog, approval_request const& request);
 * };
 * \endcode
 */
template <class P>
struct approval_traits {
    /// The decision about an action, or a coroutine that makes it.
    static auto decide(P& policy, approval_request&& request)
        requires detail::has_decide<P>
    {
        return policy.decide(std::move(request));
    }
};

/**
 * \brief Says whether an action may be done.
 * \details `decide` returns a `decision`, an `asio::awaitable<decision>`, or nothing: then `accept()` or `reject()` of
 * the request answer, at once or later, from any thread. An exception rejects. See docs/concepts/approval_policy.md.
 */
template <class P>
concept approval_policy = std::move_constructible<P> && requires(P& policy, approval_request request) {
    { approval_traits<P>::decide(policy, std::move(request)) } -> detail::decision_shape;
};

namespace detail {

/// Something to call with an approval request, which answers in one of the three ways of an approval policy.
template <class F>
concept approval_callback = std::move_constructible<F> && requires(F& callback, approval_request const& request) {
    { callback(request) } -> decision_shape;
};

/// True, or a compile error that says what is missing. First line of each class that takes an approval policy.
template <class P>
consteval bool require_approval_policy() {
    static_assert(approval_policy<P>,
                  "an approval policy has `decide(approval_request)` that returns decision, "
                  "asio::awaitable<decision> or void, or a specialisation of ipybox::approval_traits");
    return true;
}

/// True, or a compile error that says what is missing. For those who take a policy or a callback.
template <class T>
consteval bool require_approval() {
    static_assert(approval_policy<T> || approval_callback<T>,
                  "an approval is a callback that takes an approval_request and returns decision, "
                  "asio::awaitable<decision> or void, or an object with such a "
                  "`decide`, or a type with a specialisation of ipybox::approval_traits");
    return true;
}

/// A decision as a policy returns it: not yet, now, or to wait for.
using returned_decision = std::variant<std::monostate, decision, asio::awaitable<decision>>;

/// Calls a policy, or a callback.
template <class P>
decltype(auto) call(P& policy, approval_request&& request) {
    if constexpr (approval_policy<P>)
        return approval_traits<P>::decide(policy, std::move(request));
    else
        return policy(std::as_const(request));
}

/// Whether a policy answers before `decide` returns: it is asked without a coroutine, and nothing has to wait.
template <class P>
concept decides_at_once = requires(P& policy, approval_request request) {
    { call(policy, std::move(request)) } -> std::same_as<decision>;
};

/// Calls a policy or a callback of type P. Here, and only here, the three shapes are told apart.
template <class P>
[[nodiscard]] returned_decision ask(void* policy, approval_request&& request) {
    auto& asked = *static_cast<P*>(policy);
    if constexpr (std::is_void_v<decltype(call(asked, std::move(request)))>) {
        call(asked, std::move(request));
        return {};
    } else {
        return call(asked, std::move(request));
    }
}

/// Asks an erased policy, which must live until it has answered; without one it rejects. The policy answers the request
/// with its result or its exception; a later answer is not waited for. A policy that answers by a coroutine is asked
/// when what is returned is awaited, which keeps it alive.
[[nodiscard]] std::optional<asio::awaitable<void>> put_to(returned_decision (*ask)(void*, approval_request&&),
                                                          std::shared_ptr<void> policy, approval_request request);

/// Asks an erased policy that decides at once. An exception rejects.
[[nodiscard]] decision decision_of(returned_decision (*ask)(void*, approval_request&&), void* policy,
                                   approval_request request);

/// As `decide`, for an erased policy. Not a template: a coroutine is much
/// to compile for each lambda.
[[nodiscard]] asio::awaitable<decision> decide_by(returned_decision (*ask)(void*, approval_request&&),
                                                  std::shared_ptr<void> policy, approval_request request);

/**
 * \brief Asks a policy about what a request is about, whichever way it answers.
 * \details The policy gets a request of its own: what is answered there is the answer of this policy and not yet the
 * last word of who asked it.
 * \par Cancellation terminal: rejects; the policy's own coroutine is cancelled, a policy that answers later is told
 * that it is late.
 * \par Object lifetimes The policy must outlive the operation, and the operation must come to its end (cancelled if
 * need be) before its executor's context does.
 */
template <class Policy>
[[nodiscard]] asio::awaitable<decision> decide(Policy& policy, approval_request request) {
    return decide_by(&ask<Policy>, std::shared_ptr<void>(std::shared_ptr<void>(), std::addressof(policy)),
                     std::move(request));
}

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_policy.ipp>
#endif
