#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/async/sure_completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/client_environment.hpp>
#include <ipybox/mcp/listed_tools.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/rpc_outcome.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/mcp/session.hpp>
#include <ipybox/mcp/tool.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp::detail {

class connection;
class connector;
class exchange;

/**
 * \brief The client of one server. Starts it with the first request, and anew with the first one after it ended.
 * \details Requests run beside each other, in as many as there are. Texts of errors name the server; what stands behind
 * their first line (commands, standard error) is for the host alone. What is under way keeps the client: its owner ends
 * it before letting go of it, by `stop`, `kill` or `retire`. When its I/O context is destroyed, its server ends with
 * that, and it only refuses.
 * \par Completion of operations: exactly once, on the caller's executor
 * \par Thread safety Safe: works on the executor it was given, which must not run two handlers at once.
 */
class client : public std::enable_shared_from_this<client> {
  public:
    [[nodiscard]] static std::shared_ptr<client> make(asio::any_io_executor executor, std::string name,
                                                      server_params params, client_environment surroundings = {});

    client(client const&) = delete;
    client& operator=(client const&) = delete;
    ~client();

    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    [[nodiscard]] server_params const& params() const noexcept { return params_; }

    /// The effects of a tool, as the server listed them; none if it has not. From any thread.
    [[nodiscard]] std::optional<ipybox::detail::tool_annotations> annotations(std::string const& tool) const {
        return listed_->annotations(tool);
    }

    /// The `instructions` of the server; empty: it has none, or has not been started. From any thread.
    [[nodiscard]] std::string instructions() const { return listed_->instructions(); }

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

    /// Stops the server for ever, without waiting for it.
    void retire();

    /// The agreement with the server that runs; none if none does.
    asio::awaitable<std::optional<session>> current_session();

  private:
    using client_ptr = std::shared_ptr<client>;

    client(asio::any_io_executor executor, std::string name, server_params params, client_environment surroundings);

    // Operations. The client owns the completion of a coroutine that waits, and with it the coroutine. One that kept
    // the client would keep both for ever, so each lets go of it before it waits.
    template <class Machine>
    static asio::awaitable<result<typename Machine::value_type>> run(client_ptr self, result<Machine> machine,
                                                                     call_options options);
    template <class Machine>
    static asio::awaitable<result<typename Machine::value_type>> read_list(client_ptr self, call_options options);
    static asio::awaitable<result<std::vector<tool>>> read_tools(client_ptr self, call_options options);
    template <class Arguments>
    static asio::awaitable<result<call_result>> call_tool(client_ptr self, std::string const& tool,
                                                          Arguments&& arguments, call_options options);
    static asio::awaitable<result<call_result>> call_once_listed(client_ptr self, std::string tool, raw_json arguments,
                                                                 call_options options);
    static asio::awaitable<void> stopped(client_ptr self);
    static asio::awaitable<std::optional<session>> described(client_ptr self);
    asio::awaitable<result<call_result>> call_sorted(std::string const& tool, nlohmann::json const& arguments,
                                                     call_options options);

    // A request, on the executor.
    void begin(asio::any_io_executor const& current, std::shared_ptr<exchange> e);
    void submit(std::shared_ptr<exchange> const& e);
    void wait_for_server(std::shared_ptr<exchange> const& e);
    void ask(std::shared_ptr<exchange> const& e);
    void begin_request(std::shared_ptr<exchange> const& e);
    void send_request(std::shared_ptr<exchange> const& e);
    void cancel_task(exchange const& e);
    void on_outcome(std::shared_ptr<exchange> const& e, rpc_outcome outcome);
    void conclude(std::shared_ptr<exchange> const& e, rpc_outcome outcome);
    void list_and_ask(std::shared_ptr<exchange> const& e, error refusal);
    void cancel(std::shared_ptr<exchange> const& e);
    void end_waiting(error const& why);

    // The lives of the server, which one coroutine goes through.
    static asio::awaitable<void> serve(client_ptr self);
    asio::awaitable<void> live();
    void begin_session(session s);
    void end_all();
    void context_ends() noexcept;

    ipybox::detail::context_bound_executor executor_;
    std::string const name_;
    server_params const params_;
    client_environment const surroundings_;
    std::shared_ptr<listed_tools> const listed_ = std::make_shared<listed_tools>();
    std::unique_ptr<connector> const connector_;

    std::vector<std::shared_ptr<exchange>> waiting_; ///< for a server
    std::optional<session> session_;                 ///< none: not ready
    std::shared_ptr<connection> connection_;         ///< as `session_`
    bool serving_ = false;
    std::atomic<bool> retired_ = false; ///< there will be no further life
    std::vector<ipybox::detail::sure_completion<bool>> stop_waiters_;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/client.ipp>
#endif
