#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace ipybox {

/**
 * \brief Runs the kernel in the strongest sandbox that works here: bubblewrap_sandbox, else landlock_sandbox. It never
 * runs it without one.
 * \details Each start decides anew. Features that Landlock lacks are not left out: where the configuration or the
 * launch asks for it, the start fails and says so.
 * \par Thread safety Safe, shared objects too.
 */
class best_sandbox {
  public:
    best_sandbox() = default;
    /// With a configuration, whichever sandbox is chosen.
    explicit best_sandbox(sandbox_config config) : bubblewrap_(config), landlock_(std::move(config)) {}

    /// With policies that have options. Both should have the same configuration.
    best_sandbox(bubblewrap_sandbox bubblewrap, landlock_sandbox landlock)
        : bubblewrap_(std::move(bubblewrap)), landlock_(std::move(landlock)) {}

    /**
     * \brief The `wrap` of the policy that works here.
     * \par Errors those of that policy; errc::sandbox_unavailable — none works, with what is missing for each
     */
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const;

    /**
     * \brief The `describe` of the policy that works here, which the first notice names.
     * \details Tries bubblewrap, which holds up the calling thread for about 50 ms, 20 s at most.
     */
    [[nodiscard]] result<sandbox_config::description> describe(std::filesystem::path const& working_dir) const;

    /// The places that code in it can change, for launches in a working directory, on a host whose home directory `~`
    /// is
    [[nodiscard]] os::code_reach reach(std::filesystem::path const& working_dir,
                                       os::host_environment const& host) const;

  private:
    bubblewrap_sandbox bubblewrap_;
    landlock_sandbox landlock_;
};

static_assert(sandbox_policy<best_sandbox>);

namespace detail {

/// Why bubblewrap_sandbox does not work here; empty where it does.
[[nodiscard]] std::string why_no_bubblewrap(bubblewrap_sandbox::options const& options,
                                            std::shared_ptr<os::host_programs const> host);

} // namespace detail
} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/best_sandbox.ipp>
#endif
