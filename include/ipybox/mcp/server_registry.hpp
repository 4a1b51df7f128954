#pragma once

#include <ipybox/async/context_bound_executor.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/channel.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/registered_servers.hpp>
#include <ipybox/mcp/retired_clients.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_listeners.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/mcp/start_memory.hpp>
#include <ipybox/mcp/tool.hpp>
#include <ipybox/mcp/tool_provider.hpp>
#include <ipybox/mcp/variables.hpp>
#include <ipybox/os/host_programs.hpp>

#include <concepts>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp {

namespace detail {

class client;
struct named_server;

} // namespace detail

/// The settings of a registry. If the first two throw, the start of a server fails with errc::invalid_argument; an
/// exception of the third is dropped.
struct registry_options {
    /// None: child processes only.
    channel::factory make_channel;
    /// The value of `${NAME}`, or that it is not set; none: the environment of this process, when the registry was
    /// made.
    std::function<std::optional<std::string>(std::string const& name)> variables;
    std::function<void(std::string const&)>
        on_tools_changed; ///< gets the name of a server whose list of tools changed; called on the registry's executor
};

/**
 * \brief The MCP servers of the host: names, and behind each its parameters and its client. Tools of the application
 * have names among them.
 * \details The environment and the current directory are read when it is made. A name stands for the parameters it was
 * registered with until the host replaces them. Servers start with
 * their first request and anew with the first one after they ended; one that is slow delays no other. The destructor
 * ends all at once; `stop` does it politely.
 * \par Thread safety Safe: works on the executor it was given, which must not run two handlers at once. While servers
 * run, something is under way there.
 * \par Object lifetimes Operations copy what they are given, and the registry may be destroyed meanwhile. The I/O
 * context of its executor may go first: then its servers are killed, and calls fail with errc::not_running.
 */
class server_registry {
  public:
    /// The statements of a server about itself, for those who would use it. They are text of the server.
    struct tool_listing {
        std::vector<tool> tools;       ///< all that it lists
        std::string instructions = {}; ///< how to use them, for a model; empty where it has none
    };

    /// Works on this executor, which has to run while tools are called.
    explicit server_registry(asio::any_io_executor executor, registry_options options = {});
    server_registry(server_registry const&) = delete;
    server_registry& operator=(server_registry const&) = delete;
    ~server_registry();

    /// Registers a server. \par Errors errc::invalid_argument — no name for a Python package; errc::mcp_server_exists
    [[nodiscard]] result<void> add(std::string name, server_params params);

    /// The same, whether there is a server of that name or not. The one that was there is stopped.
    /// `approved` has its files as they were when they were shown; none: as they are now
    [[nodiscard]] result<void> replace(std::string name, server_params params,
                                       std::optional<detail::file_memory> approved = {});

    /**
     * \brief Registers the servers of a configuration file.
     * \details Entries that cannot be used are left out, and so are servers that are reached over HTTP without a
     * `make_channel`. Notices tell of them, and of names that had to be changed.
     * \param file the configuration
     * \param timeouts in the place of what the entries say
     * \par Errors those of `read_server_file` and `add`; errc::invalid_argument — none of its entries can be used
     */
    [[nodiscard]] result<registered_servers> add_file(std::filesystem::path const& file,
                                                      server_timeouts const& timeouts = {});

    /// The same for what `read_server_file` has read from it: that waits for the file, this waits for nothing.
    [[nodiscard]] result<registered_servers> add_from(std::filesystem::path const& file,
                                                      std::vector<detail::named_server> servers,
                                                      server_timeouts const& timeouts = {});

    /**
     * \brief Offers tools of the application under a name of their own, until `remove`.
     * \par Errors errc::invalid_argument — no name for a Python package; errc::mcp_server_exists
     */
    [[nodiscard]] result<void> add(std::string name, std::shared_ptr<tool_provider> provider);

    /// Code that can write to these places is about to run: no program of theirs is a server's, unless it is named by
    /// its path.
    void add_reach(os::code_reach const& more);

    /// Code begins to run that can really write to these places. Servers that were started from other files than those
    /// that lie there then are not started again.
    void code_runs(os::code_reach const& where) const;

    /// A server before it is registered under a name, as people should see it. `before` is what its files were when it
    /// was approved in an earlier run; none: it was not.
    [[nodiscard]] detail::server_preview preview(std::string const& name, server_params const& params,
                                                 std::optional<detail::file_memory> const& before = {}) const;

    /// Those who are told of servers that are forgotten or replaced, in the thread that does so, and of changed lists
    /// of tools, on the registry's executor.
    [[nodiscard]] detail::server_listeners& listeners() noexcept { return *listeners_; }

    /// The effects of a tool, as it declares them; none if its server has not listed it.
    [[nodiscard]] std::optional<ipybox::detail::tool_annotations> annotations(std::string const& server,
                                                                              std::string const& tool) const;

    /// What a server says about its use; empty: nothing, or it has not been started. Text of the server: carried, never
    /// interpreted.
    [[nodiscard]] std::string instructions(std::string const& server) const;

    /// The provider of tools under a name; none if that is a server's, or not registered.
    [[nodiscard]] std::shared_ptr<tool_provider> provider(std::string const& name) const;

    /**
     * \brief The files that the servers are started from, and those that they were read from.
     * \details Of those that are registered now and run on this machine; variables that are not set, or whose look-up
     * throws, leave a server out.
     */
    [[nodiscard]] detail::server_files files() const;

    /// The files that each of these servers is started from, by its name.
    [[nodiscard]] std::map<std::string, detail::server_files> files_by_server() const;

    /// Forgets a server and stops it, or tools of the application, whose calls end. \return whether there was one
    bool remove(std::string const& name);

    /// The names of the servers.
    [[nodiscard]] std::vector<std::string> names() const;

    /// Whether there is a server of this name, or tools of the application.
    [[nodiscard]] bool has(std::string const& name) const;

    /// The names of the servers, and of the tools of the application.
    [[nodiscard]] std::vector<std::string> package_names() const;

    /// The parameters as they were registered: variables have not been put in.
    [[nodiscard]] std::optional<server_params> params(std::string const& name) const;

    /**
     * \brief Asks a server for all its tools, page after page.
     * \par Errors errc::mcp_server_unknown; errc::mcp_start_failed, variable_not_set, mcp_version_unsupported,
     * mcp_unresponsive — it cannot be started; errc::mcp_server_died — it ended meanwhile, with `error::status()`;
     * errc::mcp_refused — it answered with an error; errc::protocol_error, message_too_large; errc::timed_out;
     * condition::cancelled; errc::not_running — it was stopped
     * \par Cancellation any type: the server is told, and stays usable
     */
    asio::awaitable<result<std::vector<tool>>> list_tools(std::string const& server, call_options options = {});

    /**
     * \brief The tools that a server lists, and its instructions. Starts it, asks it and ends it; blocks.
     * \param server the name by which errors call it
     * \param params how it is started
     * \param stop ends the server, and the wait for its answer
     * \par Errors those of `list_tools`
     */
    [[nodiscard]] static result<tool_listing> list_tools_of(std::string const& server, server_params const& params,
                                                            std::stop_token stop = {});

    /**
     * \brief Calls a tool. One that fails has a result too: `call_result::is_error`.
     * \details Arguments are sent in the order of their members; as `raw_json` also with integers of any size.
     * \par Errors those of `list_tools`, and errc::mcp_input_required — it asks for input, which the client does not
     * give; errc::invalid_argument — arguments that are not a JSON object
     * \par Cancellation any type: the server is told, what it answers is dropped, and the server stays usable
     */
    asio::awaitable<result<call_result>> call(std::string const& server, std::string const& tool,
                                              nlohmann::ordered_json const& arguments, call_options options = {});
    /// The same for arguments as JSON text, with integers of any size.
    asio::awaitable<result<call_result>> call(std::string const& server, std::string const& tool, raw_json arguments,
                                              call_options options = {});
    /// The same for arguments whose members are sorted by name.
    template <std::same_as<nlohmann::json> Json>
    asio::awaitable<result<call_result>> call(std::string const& server, std::string const& tool, Json const& arguments,
                                              call_options options = {}) {
        return call_sorted(server, tool, arguments, std::move(options));
    }

    /**
     * \brief Calls a tool that the server lists. The list is read where it does not have the tool, or is not known yet.
     * \par Errors those of `call`; errc::mcp_refused — the server lists no such tool: its name was not sent
     * \par Cancellation as of `call`
     */
    asio::awaitable<result<call_result>> call_listed(std::string const& server, std::string const& tool,
                                                     raw_json arguments, call_options options = {});

    /**
     * \brief Asks a server for resources and prompts.
     * \details Lists are read page after page, into an object whose `items` are those of the server, with a `remark`
     * where something is wrong with the list. Everything else is the result as the server sent it: carried, never
     * interpreted.
     * \par Errors those of `list_tools`; errc::mcp_input_required — it asks for input, which the client does not give;
     * errc::invalid_argument — tools of the application are asked
     * \par Cancellation as of `call`
     */
    asio::awaitable<result<raw_json>> ask(std::string const& server, server_query query, call_options options = {});

    /// Ends all servers that run, all at the same time and within a bound: end of their input, SIGTERM, SIGKILL.
    /// Outstanding requests complete with errc::not_running. The registry stays usable: the next request starts a
    /// server anew.
    asio::awaitable<void> stop();

    /// Ends all servers at once, for ever, from any thread, whether or not the executor runs: what is asked of them
    /// afterwards fails.
    void kill();

  private:
    asio::awaitable<result<call_result>> call_sorted(std::string const& server, std::string const& tool,
                                                     nlohmann::json const& arguments, call_options options);
    [[nodiscard]] result<std::shared_ptr<detail::client>> make_client(std::string const& name, server_params params,
                                                                      std::optional<detail::file_memory> approved);
    [[nodiscard]] result<server_params> expanded(server_params params) const;
    [[nodiscard]] std::optional<detail::file_memory> remember(server_params const& params) const;
    [[nodiscard]] result<std::shared_ptr<detail::client>> find(std::string const& name) const;
    [[nodiscard]] result<void> check_free(std::string const& name) const;
    [[nodiscard]] std::vector<std::shared_ptr<detail::client>> clients() const;

    ipybox::detail::context_bound_executor executor_;
    std::shared_ptr<os::host_programs> const host_ = os::host_programs::now();
    registry_options options_;
    std::shared_ptr<detail::known_code> const known_code_ = std::make_shared<detail::known_code>();
    std::map<std::string, std::shared_ptr<detail::start_memory>> memories_; ///< of clients
    std::shared_ptr<detail::server_listeners> const listeners_ = std::make_shared<detail::server_listeners>();
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<detail::client>> clients_;
    detail::retired_clients retired_;
    std::map<std::string, std::shared_ptr<tool_provider>> providers_;
    std::vector<std::filesystem::path> configurations_;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_registry.ipp>
#endif
