#pragma once

#include <ipybox/sandbox/sandbox_policy.hpp>

#include <concepts>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

namespace ipybox {

/**
 * \brief Any sandbox policy, by value: the sandbox that is chosen at run time.
 * \details Holds the policy unchanged; copies share it, which has no effect, as `wrap` is const. There is no empty
 * state: a moved-from object still holds its policy.
 * \par Thread safety Like that of the policy's `wrap`.
 */
class any_sandbox {
  public:
    /// From a sandbox policy, or from a type that `sandbox_traits` is specialised for.
    template <class P>
        requires(!std::same_as<std::remove_cvref_t<P>, any_sandbox>)
    any_sandbox(P&& policy) {
        static_assert(detail::require_sandbox_policy<std::remove_cvref_t<P>>());
        if constexpr (sandbox_policy<std::remove_cvref_t<P>>) {
            policy_ = std::make_shared<model<std::remove_cvref_t<P>> const>(std::forward<P>(policy));
        }
    }

    /// The same sandbox.
    any_sandbox(any_sandbox const&) = default;
    /// Becomes the same sandbox.
    any_sandbox& operator=(any_sandbox const&) = default;

    /// The policy's `wrap`.
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return policy_->wrap(std::move(spec)); }

    /// The places that code in the sandbox can change: `sandbox_traits::reach`, or the working directory where a
    /// specialisation has none.
    [[nodiscard]] os::code_reach reach(std::filesystem::path const& working_dir,
                                       os::host_environment const& host) const {
        return policy_->reach(working_dir, host);
    }

    /// Whether the policy confines programs at all: `sandbox_traits::confines`.
    [[nodiscard]] bool confines() const noexcept { return policy_->confines(); }

  private:
    struct base {
        virtual ~base() = default;
        virtual result<launch_spec> wrap(launch_spec spec) const = 0;
        [[nodiscard]] virtual os::code_reach reach(std::filesystem::path const& working_dir,
                                                   os::host_environment const& host) const = 0;
        [[nodiscard]] virtual bool confines() const noexcept = 0;
    };

    template <class P>
    struct model final : base {
        template <class Q>
        explicit model(Q&& policy) : policy_(std::forward<Q>(policy)) {}

        result<launch_spec> wrap(launch_spec spec) const override {
            return sandbox_traits<P>::wrap(policy_, std::move(spec));
        }
        [[nodiscard]] os::code_reach reach(std::filesystem::path const& working_dir,
                                           os::host_environment const& host) const override {
            return detail::reach_in(policy_, working_dir, host);
        }
        [[nodiscard]] bool confines() const noexcept override { return detail::confines<sandbox_traits<P>>(); }

        P policy_;
    };

    std::shared_ptr<base const> policy_;
};

static_assert(sandbox_policy<any_sandbox>);

} // namespace ipybox
