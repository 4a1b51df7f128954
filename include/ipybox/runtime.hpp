#pragma once

#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ipybox {

class kernel_host;
class package_layer;

/// How a runtime works. Members are given in this order.
struct runtime_options {
    std::filesystem::path working_dir =
        {}; ///< writable in the sandbox; executors' working directories lie in it. Empty: the current directory.
    environment kernel_env = {};                             ///< of the supervisor; what the interpreter itself needs
    std::filesystem::path python = {};                       ///< as in executor_options
    std::vector<std::string> preload = {};                   ///< as in executor_options
    std::vector<system_access> allow = {};                   ///< as in executor_options, for the sandbox
    sandbox_limits limits = {};                              ///< of all its kernels
    std::vector<std::filesystem::path> read_only = {};       ///< as in executor_options
    std::vector<std::filesystem::path> hidden = {};          ///< as in executor_options
    std::shared_ptr<package_layer const> packages = nullptr; ///< as in executor_options, for all its kernels
    bool walls = true; ///< keeps its kernels apart, within a sandbox: docs/sandbox.md, section 12
};

/**
 * \brief One sandbox with one supervisor in it, shared by executors: their kernels start in the time of a fork, and
 * share memory until they write to it.
 * \details With walls, each kernel sees of the working directory only that of its executor, and nothing of the other
 * kernels. Without a sandbox there are no walls. A cheap handle. The first kernel starts the supervisor, and is told
 * where that fails; it ends with the last copy and the last executor. The interpreter and the preloaded modules in an
 * executor's options do not count then.
 * \par Thread safety Safe.
 */
class runtime {
  public:
    /// Starts nothing: the first kernel starts the supervisor.
    runtime(runtime_options options, any_sandbox sandbox);

    /// In a `bubblewrap_sandbox`.
    explicit runtime(runtime_options options = {});

    /// The supervisor, for transports.
    [[nodiscard]] std::shared_ptr<kernel_host> const& host() const noexcept { return host_; }

    /// The sandbox that its executors share.
    [[nodiscard]] any_sandbox const& sandbox() const noexcept { return sandbox_; }

  private:
    any_sandbox sandbox_;
    std::shared_ptr<kernel_host> host_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/runtime.ipp>
#endif
