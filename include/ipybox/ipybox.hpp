#pragma once

/** \file
 * The whole library. Including `executor.hpp` alone is cheaper where the class `executor` is enough.
 */

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/approval/approval_funnel.hpp>
#include <ipybox/approval/approval_policy.hpp>
#include <ipybox/approval/approval_rules.hpp>
#include <ipybox/approval/approval_settings.hpp>
#include <ipybox/approval/audit_log.hpp>
#include <ipybox/approval/auto_approval.hpp>
#include <ipybox/approval/callback_approval.hpp>
#include <ipybox/approval/decision_line.hpp>
#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/approval/grant.hpp>
#include <ipybox/approval/safe_text.hpp>
#include <ipybox/basic_executor.hpp>
#include <ipybox/codegen/generate_sources.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/write_package.hpp>
#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/packages/package_layer.hpp>
#include <ipybox/runtime.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/best_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>
#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/host_tools.hpp>
#include <ipybox/transport/socketpair_transport.hpp>
#include <ipybox/transport/transport.hpp>
#include <ipybox/transport/zmq_transport.hpp>
#include <ipybox/version.hpp>
