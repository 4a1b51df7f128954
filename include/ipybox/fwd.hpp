#pragma once

/** \file
 * Declares the library's classes without defining them. Compilers quote these lines: so they name the headers.
 */

namespace ipybox {

class any_approval;       // <ipybox/approval.hpp>
class any_sandbox;        // <ipybox/sandbox.hpp>
class approval_request;   // <ipybox/approval.hpp>
class approval_rules;     // <ipybox/approval.hpp>
class audit_log;          // <ipybox/approval.hpp>
class best_sandbox;       // <ipybox/sandbox.hpp>
class bubblewrap_sandbox; // <ipybox/sandbox.hpp>
class decision;           // <ipybox/approval.hpp>
class error;
class execution_stream;
class executor; // NOLINT(bugprone-forward-declaration-namespace): another `executor`, of Asio
class executor_base;
class grant;      // <ipybox/approval.hpp>
class host_tool;  // <ipybox/tools.hpp>
class host_tools; // <ipybox/tools.hpp>
class input_request;
class job;
class json_value;
class kernel_host;
class landlock_sandbox; // <ipybox/sandbox.hpp>
class package_layer;    // <ipybox/packages.hpp>
class runtime;          // <ipybox/runtime.hpp>
class socketpair_transport;
class srt_sandbox; // <ipybox/sandbox.hpp>
class system_access;
class tool_context;  // <ipybox/tools.hpp>
class tool_result;   // <ipybox/tools.hpp>
class zmq_transport; // <ipybox/transport/zmq_transport.hpp>
struct approval_subject;
struct auto_approval; // <ipybox/approval.hpp>
struct deny_approval; // <ipybox/approval.hpp>
struct display;
struct execute_options;
struct execution_result;
struct executor_options;
struct exit_status;
struct launch_spec;
struct no_sandbox; // <ipybox/sandbox.hpp>
struct output_chunk;
struct safe_text;
struct sandbox_config; // <ipybox/sandbox.hpp>
struct sandbox_limits; // <ipybox/sandbox.hpp>
struct sandbox_report;
struct stream_reader_approval; // <ipybox/approval.hpp>
struct version;

template <class Transport, class SandboxPolicy, class ApprovalPolicy>
class basic_executor;

namespace codegen {

struct generate_options;  // <ipybox/codegen.hpp>
struct generated_package; // <ipybox/codegen.hpp>
struct generated_sources; // <ipybox/codegen.hpp>

} // namespace codegen

namespace jupyter {

struct message;

} // namespace jupyter

namespace mcp {

class channel;
class raw_json; // <ipybox/mcp.hpp>
class server;
class server_registry; // <ipybox/mcp.hpp>
class tool_provider;
struct call_options; // <ipybox/mcp.hpp>
struct call_result;  // <ipybox/mcp.hpp>
struct content;
struct registered_servers;
struct registry_options;
struct server_params; // <ipybox/mcp.hpp>
struct server_query;
struct server_timeouts;
struct tool;

} // namespace mcp

} // namespace ipybox
