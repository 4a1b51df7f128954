#pragma once

/** \file
 * Declares the library's names without defining them.
 */

namespace ipybox {

class approval_rules;
class audit_log;
class error;
class executor; // NOLINT(bugprone-forward-declaration-namespace): asio::executor is another one
class execution_stream;
class grant;
class host_tool;
class host_tools;
class kernel_host;
class package_layer;
class runtime;
struct execute_options;
struct execution_result;
struct executor_options;
struct runtime_options;

template <class Transport, class SandboxPolicy, class ApprovalPolicy>
class basic_executor;

namespace mcp {
struct registry_options;
class server_registry;
struct server_params;
} // namespace mcp

namespace codegen {
struct generate_options;
struct generated_sources;
} // namespace codegen

} // namespace ipybox
