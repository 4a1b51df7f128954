#pragma once

#include <ipybox/approval/approval_policy.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ipybox {

/// Something to call with an approval request, which answers in one of the three ways of an approval policy.
template <class F>
concept approval_callback = std::move_constructible<F> && requires(F& callback, approval_request const& request) {
    { callback(request) } -> detail::approval_outcome;
};

/**
 * \brief The approval policy that calls a function.
 * \code
 * // The dialog answers later, from any thread.
 * ipybox::callback_approval ask{[](ipybox::approval_request request) { dialog.show(std::move(request)); }};
 * ipybox::callback_approval only_reads{[](ipybox::approval_request const& request) {
 *     return request.tool().starts_with("read_") ? ipybox::decision::accept() : ipybox::decision::reject("read only");
 * }};
 * \endcode
 */
template <class F>
class callback_approval {
    static_assert(
        approval_callback<F>,
        "an approval callback takes an approval_request and returns decision, asio::awaitable<decision> or void");

  public:
    explicit callback_approval(F callback) : callback_(std::move(callback)) {}

    /// Calls the function.
    decltype(auto) decide(approval_request const& request) { return callback_(request); }

  private:
    F callback_;
};

template <class F>
callback_approval(F) -> callback_approval<F>;

/// What an argument stands for where an approval policy is wanted: itself, or a callback_approval around it.
template <class T>
using approval_for = std::conditional_t<approval_policy<T>, T, callback_approval<T>>;

namespace detail {

/// True, or a compile error that says what is missing. For those who take a policy or a callback.
template <class T>
consteval bool require_approval() {
    static_assert(approval_policy<T> || approval_callback<T>,
                  "an approval is a callback that takes an approval_request and returns decision, "
                  "asio::awaitable<decision> or void, or an object with such a "
                  "`decide`, or a type with a specialisation of ipybox::approval_traits");
    return true;
}

} // namespace detail
} // namespace ipybox
