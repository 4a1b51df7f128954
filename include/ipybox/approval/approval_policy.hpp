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
concept approval_outcome =
    std::same_as<T, decision> || std::same_as<T, asio::awaitable<decision>> || std::same_as<T, void>;

template <class P>
concept has_decide = requires(P& policy, approval_request request) {
    { policy.decide(std::move(request)) } -> approval_outcome;
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
    static auto decide(P& policy, approval_request&& request)
        requires detail::has_decide<P>
    {
        return policy.decide(std::move(request));
    }
};

/**
 * \brief Says whether an action may be done.
 * \details `decide` returns a `decision`, an `asio::awaitable<decision>`, or nothing: then `accept()` or `reject()` of the
 * request answer, at once or later, from any thread. An exception rejects. See docs/concepts/approval_policy.md.
 */
template <class P>
concept approval_policy = std::move_constructible<P> && requires(P& policy, approval_request request) {
    { approval_traits<P>::decide(policy, std::move(request)) } -> detail::approval_outcome;
};

namespace detail {

/// True, or a compile error that says what is missing. First line of each class that takes an approval policy.
template <class P>
consteval bool require_approval_policy() {
    static_assert(approval_policy<P>,
                  "an approval policy has `decide(approval_request)` that returns decision, "
                  "asio::awaitable<decision> or void, or a specialisation of ipybox::approval_traits");
    return true;
}

/// What a policy gave back: nothing yet, a decision, or a decision to wait for.
using approval_reply = std::variant<std::monostate, decision, asio::awaitable<decision>>;

/// Calls a policy of type P. Here, and only here, the three shapes are told apart.
template <class P>
[[nodiscard]] approval_reply ask(void* policy, approval_request&& request) {
    auto& asked = *static_cast<P*>(policy);
    if constexpr (std::is_void_v<decltype(approval_traits<P>::decide(asked, std::move(request)))>) {
        approval_traits<P>::decide(asked, std::move(request));
        return {};
    } else {
        return approval_traits<P>::decide(asked, std::move(request));
    }
}

/// Asks an erased policy, which must live until it has answered; without one it rejects. What the policy returns or throws answers the request; what it
/// answers later is not waited for. A policy that answers by a coroutine is asked when what is returned is awaited, which keeps it alive.
[[nodiscard]] std::optional<asio::awaitable<void>> put_to(approval_reply (*ask)(void*, approval_request&&),
                                                          std::shared_ptr<void> policy, approval_request request);

/// As `decide`, for an erased policy. Not a template: a coroutine is much
/// to compile for each lambda.
[[nodiscard]] asio::awaitable<decision> decide_by(approval_reply (*ask)(void*, approval_request&&),
                                                  std::shared_ptr<void> policy, approval_request request);

/**
 * \brief Asks a policy about what a request is about, whichever way it answers.
 * \details The policy gets a request of its own: what is answered there is the answer of this policy and not yet the last
 * word of who asked it.
 * \par Cancellation terminal: rejects; the policy's own coroutine is cancelled, a policy that answers later is told that
 * it is late.
 * \par Object lifetimes The policy must outlive the operation, and the operation must come to its end (cancelled if need
 * be) before its executor's context does.
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
