#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/session/kernel_link.hpp>

#include <memory>

namespace ipybox::detail {

/// What a session is made of, besides where it runs.
struct session_parts {
    executor_options options;
    any_approval approval;
    launch_wrapper wrap;                 ///< of the sandbox, for a host of its own
    std::shared_ptr<kernel_host> shared; ///< the host of a runtime, or none
    std::unique_ptr<kernel_link> link;
};

} // namespace ipybox::detail
