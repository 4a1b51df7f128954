#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/mcp/session.hpp>
#include <ipybox/mcp/tool.hpp>
#include <ipybox/mcp/variables.hpp>
#include <ipybox/os/host_programs.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

class client_core;

/// The settings of a client besides the parameters of its server. If the first two throw, the start fails with
/// errc::invalid_argument.
struct client_environment {
    channel::factory make_channel;          ///< none: child processes only
    variable_lookup variables;              ///< none: the environment of the host
    std::function<void()> on_tools_changed; ///< called on the client's executor when the server's list of tools
                                            ///< changes; what it throws is dropped
    /// Whether it may be started with these parameters now, in which variables have been put; none: it may.
    std::function<result<void>(server_params const&)> check_start = {};
    /// Whether it may go on, now that it has begun to talk; none: it may.
    std::function<result<void>(server_params const&)> check_started = {};
    /// Its process is started there.
    std::shared_ptr<os::host_programs const> host = os::host_programs::now();
};

/**
 * \brief The client of one server. Starts it with the first request, and anew with the first one after it ended.
 * \details Requests run beside each other, in as many as there are. Texts of errors name the server; what stands behind
 * their first line (commands, standard error) is for the host alone.
 * \par Completion of operations: exactly once, on the caller's executor; the client may be destroyed meanwhile
 * \par Thread safety Safe: works on the executor it was given, which must not run two handlers at once.
 */
class client {
  public:
    client(asio::any_io_executor executor, std::string name, server_params params,
           client_environment surroundings = {});
    client(client const&) = delete;
    client& operator=(client const&) = delete;

    ~client(); ///< Ends the server at once.

    [[nodiscard]] std::string const& name() const noexcept;
    [[nodiscard]] server_params const& params() const noexcept;

    /// The effects of a tool, as the server listed them; none if it has not. From any thread.
    [[nodiscard]] std::optional<ipybox::detail::tool_annotations> annotations(std::string const& tool) const;

    /// The `instructions` of the server; empty: it has none, or has not been started. From any thread.
    [[nodiscard]] std::string instructions() const;

    /**
     * \brief Asks for all tools, page after page.
     * \par Errors errc::mcp_start_failed, variable_not_set, mcp_version_unsupported, mcp_unresponsive — it cannot be
     * started; errc::mcp_server_died — it ended meanwhile, with `error::status()`; errc::mcp_refused — it answered with
     * an error; errc::protocol_error, message_too_large; errc::timed_out; condition::cancelled; errc::not_running — it
     * was stopped
     * \par Cancellation any type: the server is told, the client stays usable
     */
    asio::awaitable<result<std::vector<tool>>> list_tools(call_options options = {});

    /**
     * \brief Calls a tool. One that fails has a result too: `call_result::is_error`.
     * \details Arguments are sent in the order of their members; as `raw_json` also with integers of any size.
     * \par Errors those of `list_tools`, and errc::mcp_input_required — it asks for input, which the client does not
     * give; errc::invalid_argument — arguments that are not a JSON object
     * \par Cancellation any type: the server is told, what it answers is dropped, the client stays usable
     */
    asio::awaitable<result<call_result>> call(std::string const& tool, nlohmann::ordered_json const& arguments,
                                              call_options options = {});
    asio::awaitable<result<call_result>> call(std::string const& tool, raw_json arguments, call_options options = {});

    /// The same for arguments whose members are sorted by name. Deep ones are refused, not converted.
    template <std::same_as<nlohmann::json> Json>
    asio::awaitable<result<call_result>> call(std::string const& tool, Json const& arguments,
                                              call_options options = {}) {
        return call_sorted(tool, arguments, std::move(options));
    }

    /**
     * \brief Calls a tool that the server lists. The list is read where it does not have the tool, or is not known yet.
     * \par Errors those of `call`; errc::mcp_refused — the server lists no such tool: its name was not sent
     * \par Cancellation as of `call`
     */
    asio::awaitable<result<call_result>> call_listed(std::string tool, raw_json arguments, call_options options = {});

    /**
     * \brief Asks for resources and prompts. Lists are read page after page, into an object with `items` and `remark`;
     * everything else is the result as the server sent it.
     * \par Errors those of `list_tools`, and errc::mcp_input_required — it asks for input, which the client does not
     * give
     * \par Cancellation as of `call`
     */
    asio::awaitable<result<raw_json>> ask(server_query query, call_options options = {});

    /**
     * \brief Ends the server, if it runs, within a bound: end of its input, SIGTERM, SIGKILL. Outstanding requests
     * complete with errc::not_running.
     * \details The client stays usable: the next request starts the server anew, once the old one is gone.
     */
    asio::awaitable<void> stop();

    /// Ends the server at once, for ever. From any thread.
    void kill();

    /// Stops the server for ever, without waiting for it. The client may be destroyed.
    void retire();

    /// The agreement with the server that runs; none if none does.
    asio::awaitable<std::optional<session>> current_session();

  private:
    asio::awaitable<result<call_result>> call_sorted(std::string const& tool, nlohmann::json const& arguments,
                                                     call_options options);

    std::shared_ptr<client_core> core_;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/client.ipp>
#endif
