#pragma once

/** \file
 * Declares the library's classes without defining them.
 */

namespace ipybox {

class address_range;
class any_approval;
class any_sandbox;
class approval_request;
class approval_rules;
class audit_log;
class best_sandbox;
class bubblewrap_sandbox;
class decision;
class domain_pattern;
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
class supervised_process;
class supervisor;
class tool_context;
class tool_definitions;
class tool_executor;
class tool_result;
class zmq_transport;
struct approval_subject;
struct auto_approval;
struct bubblewrap_options;
struct config_path;
struct deny_approval;
struct display;
struct execute_options;
struct execution_result;
struct executor_options;
struct exit_status;
struct filesystem_config;
struct installed_package;
struct kernel_info;
struct kernel_launch;
struct kernel_walls;
struct landlock_options;
struct launch_spec;
struct network_config;
struct no_sandbox;
struct output_chunk;
struct package_options;
struct package_result;
struct program_launch;
struct safe_text;
struct sandbox_config;
struct sandbox_description;
struct sandbox_limits;
struct sandbox_machine;
struct sandbox_policy_report;
struct sandbox_protection;
struct sandbox_report;
struct srt_options;
struct stream_reader_approval;
struct supervisor_info;
struct supervisor_options;
struct tool_options;
struct tool_parameter;
struct version_number;
struct zmq_options;

template <class Transport, class SandboxPolicy, class ApprovalPolicy>
class basic_executor;

namespace codegen {

struct generate_notice;
struct generate_options;
struct generated_package;
struct generated_sources;
struct tool_changes;
struct write_options;

} // namespace codegen

namespace jupyter {

struct message;

} // namespace jupyter

namespace mcp {

class channel;
class raw_json;
class server;
class server_call;
class server_channel;
class server_registry;
class tool_provider;
struct audio_content;
struct call_options;
struct call_result;
struct client_description;
struct elicitation_answer;
struct embedded_resource;
struct image_content;
struct progress;
struct registered_servers;
struct registry_options;
struct remote_server;
struct resource_link;
struct server_files;
struct server_limits;
struct server_options;
struct server_params;
struct server_tool;
struct stdio_server;
struct text_content;
struct tool;
struct unknown_content;

} // namespace mcp

} // namespace ipybox
