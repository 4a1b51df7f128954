#pragma once

/** \file
 * The bodies of all functions that are not templates. With IPYBOX_SEPARATE_COMPILATION one translation unit of the program includes it.
 */

#ifndef IPYBOX_SEPARATE_COMPILATION
#error "define IPYBOX_SEPARATE_COMPILATION in the whole program, or use the headers alone"
#endif

#include <ipybox/approval/impl/approval_answer.ipp>
#include <ipybox/approval/impl/approval_policy.ipp>
#include <ipybox/approval/impl/approval_request.ipp>
#include <ipybox/approval/impl/decision.ipp>
#include <ipybox/core/impl/ansi.ipp>
#include <ipybox/core/impl/base64.ipp>
#include <ipybox/core/impl/error.ipp>
#include <ipybox/core/impl/exit_status.ipp>
#include <ipybox/execution/impl/input_request.ipp>
#include <ipybox/impl/execution_stream.ipp>
#include <ipybox/impl/executor.ipp>
#include <ipybox/impl/executor_base.ipp>
#include <ipybox/impl/runtime.ipp>
#include <ipybox/ipybox.hpp>
#include <ipybox/jupyter/impl/connection_info.ipp>
#include <ipybox/jupyter/impl/display_content.ipp>
#include <ipybox/jupyter/impl/kernelspec.ipp>
#include <ipybox/jupyter/impl/message.ipp>
#include <ipybox/jupyter/impl/mime_bundle.ipp>
#include <ipybox/jupyter/impl/signature.ipp>
#include <ipybox/jupyter/impl/wire_format.ipp>
#include <ipybox/kernel/impl/interpreter.ipp>
#include <ipybox/kernel/impl/supervisor.ipp>
#include <ipybox/kernel/impl/supervisor_core.ipp>
#include <ipybox/mcp/impl/call_result.ipp>
#include <ipybox/mcp/impl/client.ipp>
#include <ipybox/mcp/impl/client_core.ipp>
#include <ipybox/mcp/impl/connection.ipp>
#include <ipybox/mcp/impl/handshake_machine.ipp>
#include <ipybox/mcp/impl/json_cursor.ipp>
#include <ipybox/mcp/impl/line_reader.ipp>
#include <ipybox/mcp/impl/rpc_machine.ipp>
#include <ipybox/mcp/impl/rpc_message.ipp>
#include <ipybox/mcp/impl/server_file.ipp>
#include <ipybox/mcp/impl/server_launch.ipp>
#include <ipybox/mcp/impl/server_params.ipp>
#include <ipybox/mcp/impl/server_registry.ipp>
#include <ipybox/mcp/impl/session.ipp>
#include <ipybox/mcp/impl/stdio_channel.ipp>
#include <ipybox/mcp/impl/tool_call_machine.ipp>
#include <ipybox/mcp/impl/tool_list_machine.ipp>
#include <ipybox/mcp/impl/variables.ipp>
#include <ipybox/os/impl/datagram.ipp>
#include <ipybox/os/impl/new_file.ipp>
#include <ipybox/os/impl/process.ipp>
#include <ipybox/sandbox/impl/bubblewrap_preflight.ipp>
#include <ipybox/sandbox/impl/bubblewrap_sandbox.ipp>
#include <ipybox/session/impl/event_queue.ipp>
#include <ipybox/session/impl/execute_machine.ipp>
#include <ipybox/session/impl/make_session.ipp>
#include <ipybox/session/impl/output_recorder.ipp>
#include <ipybox/session/impl/output_text.ipp>
#include <ipybox/session/impl/session.ipp>
#include <ipybox/transport/impl/scripted_transport.ipp>
#include <ipybox/transport/impl/socketpair_transport.ipp>
#include <ipybox/transport/impl/stream_frame.ipp>
#include <ipybox/transport/impl/tcp_ports.ipp>
#include <ipybox/transport/impl/zmq_link.ipp>
#include <ipybox/transport/impl/zmq_socket.ipp>
#include <ipybox/transport/impl/zmq_transport.ipp>
#include <ipybox/transport/scripted_transport.hpp>
