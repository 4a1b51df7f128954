#pragma once

/** \file
 * Sandboxes, their configuration, and what this machine can do of it.
 */

#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/os/system_access.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/best_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/network_service.hpp>
#endif
