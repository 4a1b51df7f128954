#pragma once

/** \file
 * Declares the library's classes without defining them.
 */

namespace ipybox {

class any_approval;
class any_sandbox;
class approval_request;
class approval_rules;
class audit_log;
class best_sandbox;
class bubblewrap_sandbox;
class decision;
class error;
class execution_stream;
class executor; // NOLINT(bugprone-forward-declaration-namespace): another `executor`, of Asio
class executor_base;
class grant;
class host_tool;
class host_tools;
class input_request;
class job;
class json_value;
class kernel_host;
class landlock_sandbox;
class package_layer;
class runtime;
class socketpair_transport;
class srt_sandbox;
class system_access;
class tool_context;
class tool_result;
class zmq_transport;
struct approval_subject;
struct auto_approval;
struct deny_approval;
struct display;
struct execute_options;
struct execution_result;
struct executor_options;
struct exit_status;
struct launch_spec;
struct no_sandbox;
struct output_chunk;
struct safe_text;
struct sandbox_config;
struct sandbox_limits;
struct sandbox_report;
struct stream_reader_approval;
struct version;

template <class Transport, class SandboxPolicy, class ApprovalPolicy>
class basic_executor;

namespace codegen {

struct generate_options;
struct generated_package;
struct generated_sources;

} // namespace codegen

namespace jupyter {

struct message;

} // namespace jupyter

namespace mcp {

class channel;
class raw_json;
class server;
class server_registry;
class tool_provider;
struct call_options;
struct call_result;
struct content;
struct registered_servers;
struct registry_options;
struct server_params;
struct server_query;
struct server_timeouts;
struct tool;

} // namespace mcp

} // namespace ipybox
