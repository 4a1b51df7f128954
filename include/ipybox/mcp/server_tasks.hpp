#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/era.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

struct call_result;

namespace detail {

[[nodiscard]] inline era era_of(server::client_description const& client) noexcept {
    return client.is_stateless ? era::stateless : era::handshake;
}

} // namespace detail

using server_clock = std::chrono::steady_clock;

/// A call that the client does not wait for: it asks how far it has come, and then for its result.
struct server_task {
    enum class phase { working, input_required, completed, failed, cancelled };

    static constexpr std::size_t longest_message = 1000;

    std::string id;
    std::shared_ptr<server::client_description const> client; ///< that it was made for; other versions do not see it
    server_clock::time_point created;
    server_clock::time_point updated;
    std::chrono::milliseconds lifetime;
    std::string message = {};                       ///< of the last progress
    server_call_id call = 0;                        ///< while it has not ended
    std::shared_ptr<call_result const> result = {}; ///< none after it ended: it was cancelled
    std::vector<server_open_request> waiters = {};  ///< requests `tasks/result`

    [[nodiscard]] bool has_ended() const noexcept { return call == 0; }
};

/**
 * \brief The tasks of one client (MCP 2025-11-25, "Tasks"; the extension `io.modelcontextprotocol/tasks` of
 * 2026-07-28), and how they are written.
 * \details No clock: the caller says what time it is.
 */
class server_tasks {
  public:
    using clock = server_clock;

    /// How often clients should ask, in milliseconds.
    static constexpr int poll_interval = 500;

    server_tasks(std::size_t most, clock::time_point now, std::chrono::system_clock::time_point wall)
        : most_(most), epoch_(now), wall_epoch_(wall) {}

    /// Whether there can be one more: tasks that have ended make room.
    [[nodiscard]] bool has_room() const;

    /// Makes a task; the oldest one that has ended goes where there are as many as allowed.
    server_task& add(std::shared_ptr<server::client_description const> client, server_call_id call,
                     std::chrono::milliseconds lifetime, clock::time_point now);

    /// The task that a client of this era may ask for; none where it made no such task, or it is no longer kept.
    [[nodiscard]] server_task* find(std::string_view id, detail::era which);

    /// When the next task is no longer kept.
    [[nodiscard]] clock::time_point deadline() const noexcept;

    /// Takes out a task that is no longer kept; none where there is none.
    [[nodiscard]] std::unique_ptr<server_task> take_expired(clock::time_point now);

    [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
    [[nodiscard]] std::vector<std::unique_ptr<server_task>> const& all() const noexcept { return tasks_; }

    /// A task's members, as its client's version names them.
    [[nodiscard]] std::string write(server_task const& task, server_task::phase phase,
                                    std::vector<rpc_member> const& before = {},
                                    std::vector<rpc_member> const& after = {}) const;

  private:
    [[nodiscard]] std::string time_text(clock::time_point at) const;

    std::size_t most_;
    clock::time_point epoch_;
    std::chrono::system_clock::time_point wall_epoch_;
    std::vector<std::unique_ptr<server_task>> tasks_; ///< the oldest first
};

/// How long a client of 2025-11-25 wants its task to be kept; none where it does not say so. \param task JSON of the
/// client
[[nodiscard]] std::optional<std::chrono::milliseconds> read_task_lifetime(std::string_view task);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_tasks.ipp>
#endif
