#pragma once

#include <ipybox/approval/approval_policy.hpp>

#include <type_traits>
#include <utility>

namespace ipybox {

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
        detail::approval_callback<F>,
        "an approval callback takes an approval_request and returns decision, asio::awaitable<decision> or void");

  public:
    /// Calls the function for each request. It converts, so that an executor of this policy takes the function itself.
    callback_approval(F callback) : callback_(std::move(callback)) {}

    /// Calls the function.
    decltype(auto) decide(approval_request const& request) { return callback_(request); }

  private:
    F callback_;
};

template <class F>
callback_approval(F) -> callback_approval<F>;

namespace detail {

/// The policy that an argument stands for: itself, or a callback_approval around it.
template <class T>
using approval_for = std::conditional_t<approval_policy<T>, T, callback_approval<T>>;

} // namespace detail
} // namespace ipybox
