#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace ipybox {

class any_approval;

namespace detail {

/// `any_approval`, once it is needed: headers with options need not know what it is.
template <class T>
struct any_approval_for {
    using type = any_approval;
};

/// The approval policy of one execution, or none. Made of all that `any_approval` is made of.
class own_approval {
  public:
    own_approval() = default;

    template <class T>
        requires(!std::same_as<std::remove_cvref_t<T>, own_approval>)
    own_approval(T&& approval)
        : policy_(std::make_shared<typename any_approval_for<T>::type const>(std::forward<T>(approval))) {}

    [[nodiscard]] std::shared_ptr<any_approval const> const& policy() const noexcept { return policy_; }

  private:
    std::shared_ptr<any_approval const> policy_;
};

} // namespace detail
} // namespace ipybox
