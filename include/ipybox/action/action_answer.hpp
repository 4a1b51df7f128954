#pragma once

#include <ipybox/action/action_frame.hpp>
#include <ipybox/action/action_host.hpp>
#include <ipybox/action/action_request.hpp>
#include <ipybox/approval/verdict.hpp>
#include <ipybox/core/error.hpp>
#include <ipybox/core/exit_status.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/** \file
 * The answer of the host: docs/action-protocol.md section 2.
 */

namespace ipybox::detail {

/// The result of a tool. One that failed is answered with an error, which has the text that it returned.
[[nodiscard]] action_frame result_answer(action_id id, mcp::call_result returned);

/// The answer of a server that was asked for resources or prompts: JSON.
[[nodiscard]] action_frame json_answer(action_id id, mcp::raw_json value);

/// Bytes of what a tool returned, about: of what may be large in it.
[[nodiscard]] std::size_t size_of(mcp::call_result const& returned);

/// How far a tool has come. Messages are cut at 4 KiB.
[[nodiscard]] action_frame progress_answer(action_id id, mcp::call_options::progress const& reached);

/// A program runs; so many descriptors travel with this.
[[nodiscard]] action_frame started_answer(action_id id, std::size_t descriptors);

[[nodiscard]] action_frame exited_answer(action_id id, exit_status status);

/// The packages of servers, each with null or the reason why it is not there.
[[nodiscard]] action_frame packages_answer(action_id id, package_states const& packages);

/// An action was not done, or failed. Of an error only its text goes to the kernel, and of that only the first line,
/// unless it is what a server answered: else what stands below is the host's.
[[nodiscard]] action_frame error_answer(action_id id, error const& why);

/// An action was rejected: the reason, and who decided.
[[nodiscard]] action_frame rejected_answer(action_id id, verdict const& said);

/// A frame that is not a request.
[[nodiscard]] action_frame malformed_answer(malformed_action const& malformed);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/action/impl/action_answer.ipp>
#endif
