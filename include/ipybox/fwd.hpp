#pragma once

/** \file
 * Declares the library's classes without defining them.
 */

namespace ipybox {

class any_approval;
class any_sandbox;
class approval_gate;
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
class mime_bundle;
class package_layer;
class runtime;
class socketpair_transport;
class srt_sandbox;
class system_access;
class tool_context;
class tool_result;
class zmq_transport;
struct action_outcome;
struct active_grant;
struct approval_settings;
struct approval_subject;
struct audit_options;
struct auto_approval;
struct decision_line;
struct deny_approval;
struct display;
struct exceeded_limit;
struct execute_options;
struct execution_result;
struct executor_options;
struct exit_status;
struct job_output;
struct launch_spec;
struct matched_rule;
struct no_sandbox;
struct output_chunk;
struct output_cleared;
struct python_exception;
struct runtime_options;
struct safe_text;
struct safe_text_options;
struct sandbox_config;
struct sandbox_limits;
struct sandbox_report;
struct shell_command;
struct shell_line;
struct shell_word;
struct stream_options;
struct stream_reader_approval;
struct tool_annotations;
struct unprotected_file;
struct verdict;
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
struct tool;

} // namespace mcp

} // namespace ipybox
