#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <concepts>
#include <filesystem>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

template <class P>
concept has_wrap = requires(P const& policy, launch_spec spec) {
    { policy.wrap(std::move(spec)) } -> std::same_as<result<launch_spec>>;
};

template <class P>
concept has_reach =
    requires(P const& policy, std::filesystem::path const& working_dir, os::host_environment const& host) {
        { policy.reach(working_dir, host) } -> std::same_as<os::code_reach>;
    };

template <class T>
consteval bool confines() {
    if constexpr (requires { T::confines; })
        return T::confines;
    else
        return true;
}

} // namespace detail

/**
 * \brief How a sandbox policy is used; the primary template forwards to its members.
 * \details Specialise it to make a sandbox policy of a type that is not yours:
 * \code
 * template <> struct ipybox::sandbox_traits<their::jail> {
 *     static result<launch_spec> wrap(their::jail const& jail, launch_spec spec);
 * };
 * \endcode
 * `confines` tells whether it confines the program at all; true where neither the specialisation nor the policy says
 * otherwise.
 */
template <class P>
struct sandbox_traits {
    /// Whether it confines the program at all.
    static constexpr bool confines = detail::confines<P>();

    /// The program that is started in the place of `spec`.
    static result<launch_spec> wrap(P const& policy, launch_spec spec)
        requires detail::has_wrap<P>
    {
        return policy.wrap(std::move(spec));
    }

    /// The places that code in the sandbox can change, for launches in a working directory: the host starts no program
    /// that lies there. Without a member `reach` it is the working directory, and nothing where nothing is confined.
    [[nodiscard]] static os::code_reach reach(P const& policy, std::filesystem::path const& working_dir,
                                              os::host_environment const& host) {
        if constexpr (detail::has_reach<P>)
            return policy.reach(working_dir, host);
        else
            return os::code_reach(confines ? std::vector{working_dir} : std::vector<std::filesystem::path>());
    }
};

/**
 * \brief Puts a sandbox around a program that is about to be started.
 * \details `wrap` maps what would be started onto what is started instead; it starts nothing of it. A policy whose
 * sandbox is unavailable on this machine returns errc::sandbox_unavailable: there is no way on with less than was asked
 * for. See docs/concepts/sandbox_policy.md.
 */
template <class P>
concept sandbox_policy = std::move_constructible<P> && requires(P const& policy, launch_spec spec) {
    { sandbox_traits<P>::wrap(policy, std::move(spec)) } -> std::same_as<result<launch_spec>>;
};

namespace detail {

/// The places that code in a sandbox can change. A specialisation of the traits may not say so.
template <class P>
os::code_reach reach_in(P const& policy, std::filesystem::path const& working_dir, os::host_environment const& host) {
    if constexpr (requires { sandbox_traits<P>::reach(policy, working_dir, host); })
        return sandbox_traits<P>::reach(policy, working_dir, host);
    else
        return os::code_reach(confines<sandbox_traits<P>>() ? std::vector{working_dir}
                                                            : std::vector<std::filesystem::path>());
}

/// True, or a compile error that says what is missing. First line of each class that takes a sandbox policy.
template <class P>
consteval bool require_sandbox_policy() {
    static_assert(sandbox_policy<P>,
                  "a sandbox policy has `result<launch_spec> wrap(launch_spec) const`, or a specialisation of "
                  "ipybox::sandbox_traits");
    return true;
}

} // namespace detail
} // namespace ipybox
