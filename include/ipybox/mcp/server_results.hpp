#pragma once

#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace ipybox::mcp {

class server_listing;
class server_questions;
class server_tasks;
struct call_result;
struct server_task;

/**
 * \brief The results of calls and of requests about tasks, as the version of their client has them.
 * \details No I/O. Changes nothing: it reads the tasks and questions, which outlive it, as the listing does.
 */
class server_results {
  public:
    /// Bytes of a line that are kept for what stands around a result.
    static constexpr std::size_t envelope = std::size_t(8) << 10;

    server_results(server_listing const& listing, server_tasks const& tasks, server_questions const& questions,
                   std::size_t max_line_out);

    /// The result of a call of a tool, or that it is too long.
    [[nodiscard]] std::string of_call(server::tool const& tool, server::client_description const& client,
                                      call_result const& result) const;

    /// The result of a task, or that it is too long.
    [[nodiscard]] call_result fitting(server::tool const& tool, server::client_description const& client,
                                      call_result result) const;

    /// The answer to a call that has become a task.
    [[nodiscard]] std::string of_new_task(server_task const& task) const;

    /// The answer to a call whose client has to come back with the answers to its questions, and with `state`.
    [[nodiscard]] std::string with_questions(server_call_id call, std::string const& state) const;

    /// Of `tasks/list`, which clients of the handshake era have.
    [[nodiscard]] std::string task_list() const;

    /// Of `tasks/get`.
    [[nodiscard]] std::string task_state(server_task const& task) const;

    /// Of `tasks/result`, and of the requests that have waited for it.
    [[nodiscard]] answer_to<std::string> task_result(server_task const& task) const;

    /// Of `tasks/cancel`.
    [[nodiscard]] std::string cancelled_task(server_task const& task) const;

  private:
    /// The result that is sent instead of one of so many bytes; none where that can be sent.
    [[nodiscard]] std::optional<call_result> too_long(server::tool const& tool, std::size_t size) const;

    server_listing const& listing_;
    server_tasks const& tasks_;
    server_questions const& questions_;
    std::size_t room_;
};

/// A result that says why a call has failed.
[[nodiscard]] call_result failed_call(std::string text);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_results.ipp>
#endif
