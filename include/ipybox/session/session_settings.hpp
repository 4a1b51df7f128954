#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/session/output_places.hpp>

#include <chrono>
#include <memory>

namespace ipybox::detail {

struct transport_facts;

/**
 * \brief The settings that a session makes of its options: absolute paths, and settings of all that it consists of.
 * \details A relative path means the directory that was current when the executor was made.
 */
class session_settings {
  public:
    session_settings(executor_options options, std::shared_ptr<os::host_programs const> programs);

    [[nodiscard]] executor_options const& options() const noexcept { return options_; }

    /// The environment of the host and its programs, as they were when the executor was made.
    [[nodiscard]] std::shared_ptr<os::host_programs const> const& programs() const noexcept { return programs_; }

    /// The directories for files of executions, opened before there is a kernel.
    [[nodiscard]] std::shared_ptr<output_places> const& places() const noexcept { return places_; }

    [[nodiscard]] std::chrono::milliseconds end_grace() const;

    /// A supervisor of the session's own, without the demands of services.
    [[nodiscard]] supervisor_options supervisor(launch_wrapper wrap, transport_facts const& facts) const;

    /// A kernel of such a transport.
    [[nodiscard]] kernel_launch kernel(transport_facts const& facts) const;

    /// Whether kernels of such a transport can do what the options say.
    [[nodiscard]] result<void> allows(transport_facts const& facts) const;

  private:
    std::shared_ptr<output_places> places_;
    executor_options options_;
    std::shared_ptr<os::host_programs const> programs_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/session_settings.ipp>
#endif
