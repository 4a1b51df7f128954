#pragma once

#include <ipybox/execution/executor_options.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ipybox {

class kernel_host;

/**
 * \brief One sandbox with one supervisor in it, shared by executors: their kernels start in the time of a fork, and
 * share memory until they write to it.
 * \details With walls, each kernel sees of the working directory only that of its executor, and nothing of the other
 * kernels. Without a sandbox there are no walls. A cheap handle. The first kernel starts the supervisor, and is told
 * where that fails; it ends with the last copy and the last executor. The interpreter in an executor's options does not
 * count then. Executors whose options name limits, preloaded modules or packages that are not the runtime's are refused
 * (errc::invalid_argument). A working directory outside of the runtime's is read-only, unless the runtime's sandbox
 * opens it.
 * \par Thread safety Safe.
 */
class runtime {
  public:
    /// How a runtime works. Members are given in this order.
    struct options {
        /// Writable in the sandbox; executors' working directories lie in it, and an executor that names none works in
        /// it. Empty: the current directory.
        std::filesystem::path working_dir = {};

        /// The process that all its kernels are forked from.
        struct kernel_options {
            std::filesystem::path python = {};     ///< as in executor_options
            environment env = {};                  ///< of the supervisor; what the interpreter itself needs
            std::vector<std::string> preload = {}; ///< as in executor_options
            std::shared_ptr<package_layer const> packages = nullptr; ///< as in executor_options, for all its kernels
        };
        /// Options of the kernels.
        kernel_options kernel = {};

        /// As in executor_options, for the sandbox of all its kernels.
        executor_options::sandbox_options sandbox = {};

        /// Keeps its kernels apart, within a sandbox: docs/sandbox.md, section 12.
        bool walls = true;
    };

    /// Starts nothing: the first kernel starts the supervisor.
    runtime(options how, any_sandbox sandbox);

    /// In a `bubblewrap_sandbox`.
    explicit runtime(options how);

    /// The same without options.
    runtime();

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
