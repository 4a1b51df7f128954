#pragma once

#include <ipybox/core/result.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief How far a call is that its server runs as a task.
 * \details MCP 2025-11-25, "Tasks"; the extension `io.modelcontextprotocol/tasks` of 2026-07-28, which has the result
 * in it. All of it comes from the server.
 */
struct task_state {
    /// Where a task is.
    enum class phase { working, input_required, completed, failed, cancelled };

    std::string id;                     ///< JSON
    phase now = phase::working;         ///< where it is
    std::string message = {};           ///< what it is doing, or why it failed
    std::chrono::milliseconds pause{0}; ///< before it is asked for again
    std::string result = {};            ///< JSON of what the tool returned; empty: it is asked for by itself

    [[nodiscard]] bool has_ended() const noexcept {
        return now == phase::completed || now == phase::failed || now == phase::cancelled;
    }
};

/// Bounds of the pause that a server wishes for, and the one where it wishes for none.
inline constexpr std::chrono::milliseconds shortest_task_pause{50};
inline constexpr std::chrono::milliseconds usual_task_pause{500};
inline constexpr std::chrono::milliseconds longest_task_pause{30'000};

/// Reads a task, on any thread. \par Errors errc::protocol_error — it has no id, or a status that is not known
[[nodiscard]] result<task_state> read_task_state(std::string_view json);

/// JSON of the member `task`, by which a call of 2025-11-25 is answered that is made as a task; empty where there is
/// none.
[[nodiscard]] std::string_view task_in(std::string_view json);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/task_state.ipp>
#endif
