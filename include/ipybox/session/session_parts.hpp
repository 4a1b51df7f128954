#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/host_programs.hpp>

#include <memory>

namespace ipybox::detail {

class kernel_link;

/// The parts of a session, besides its executor.
struct session_parts {
    executor_options options;                          ///< with an absolute working directory
    std::shared_ptr<os::host_programs const> programs; ///< of the host, as it was when the executor was made
    any_approval approval;
    launch_wrapper wrap;                 ///< of the sandbox, for a host of its own
    std::shared_ptr<kernel_host> shared; ///< the host of a runtime, or none
    std::shared_ptr<kernel_link> link;
};

} // namespace ipybox::detail
