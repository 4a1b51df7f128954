#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/tool.hpp>

#include <asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief Tools that a registry offers under a name as it offers those of a server: functions of the application.
 * \par Thread safety Safe.
 */
class tool_provider {
  public:
    tool_provider() = default;
    tool_provider(tool_provider const&) = delete;
    tool_provider& operator=(tool_provider const&) = delete;
    virtual ~tool_provider() = default;

    /// The tools that there are now.
    [[nodiscard]] virtual std::vector<tool> tools() const = 0;

    /// The effects of one of them, as it declares them; none if there is no such tool.
    [[nodiscard]] virtual std::optional<ipybox::detail::tool_annotations>
    annotations(std::string const& tool) const = 0;

    /**
     * \brief Calls a tool. One that fails has a result too: `call_result::is_error`.
     * \par Errors errc::mcp_refused — there is no such tool, or its arguments are refused; errc::not_running — it has
     * ended; condition::cancelled
     * \par Cancellation any type: the call completes with condition::cancelled at once, what comes later is dropped
     */
    virtual asio::awaitable<result<call_result>> call(std::string tool, raw_json arguments, call_options options) = 0;

    /// Ends all calls, also those that come later, from any thread. Waits for nothing.
    virtual void end() = 0;
};

} // namespace ipybox::mcp
