#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/execute_options.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/json_value.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/job.hpp>
#include <ipybox/mcp/registered_servers.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/packages/installation.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/grant.hpp>
#include <ipybox/session/kernel_state.hpp>
#include <ipybox/session/unprotected_file.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ipybox {

class execution_stream;
class host_tool;
class host_tools;

namespace detail {
class server_source;
class session;
class session_handle;
struct action_outcome;
struct execution;
struct generated_place;
} // namespace detail

/**
 * \brief The operations of every executor: `executor` and `basic_executor<…>` differ in how they are made.
 * \details One kernel, one queue: calls are executed in the order they were made. The first call starts the kernel.
 * `start`, `execute`, `interrupt`, `reset`, `stop` and `generate_mcp_sources` block, and have `async_` twins that take
 * a completion token. The destructor ends the kernel and completes outstanding operations with errc::not_running.
 * \par Thread safety Safe: every operation may be called from any thread. Blocking operations return
 * errc::would_deadlock where they would wait for the calling thread itself: at once from the thread that serves the
 * executor, or in a handler of an `io_context` that does; after a second in a handler of a pool or a strand none of
 * whose other threads comes; after 5 s where no thread runs the application's context, as between two calls of its
 * `poll()`. A context that is no longer run once the call has begun is waited for.
 * \par Headers Operations on MCP servers are those of `ipybox/mcp.hpp`, on their packages of `ipybox/codegen.hpp`, on
 * functions of the application of `ipybox/tools.hpp`, on installed packages of `ipybox/packages.hpp`, on approvals and
 * grants of `ipybox/approval.hpp`. `ipybox.hpp` includes them all. A program of headers alone (`ipybox::header_only`)
 * has no others than those that it includes; options that need one which is missing fail `start` with
 * errc::invalid_argument.
 * \par Locks The blocking operations, the destructor and the move assignment wait for other threads. Those call
 * completion handlers, approval policies, input handlers and host tools. Release every lock that such a function takes
 * before you call one of these, above all a lock of an interpreter (Python's GIL): otherwise both threads wait for
 * ever. `cancel`, `stream`, `submit`, `state`, the `async_` operations, and those on servers, tools and grants wait for
 * no handler.
 * \par Handlers at the end An executor with a thread of its own has called all its handlers when its destructor
 * returns, and calls none later, unless one of them destroys it. `stop` does not promise that: handlers of operations
 * that it ended may still be on their way. On an application's I/O context they are called by the `run()` of that, or
 * never when the context ends first.
 * \par Exceptions An exception of a completion handler is not caught. On an application's I/O context it leaves the
 * `run()` that called the handler, and the executor goes on when that is called again. An executor's own thread has no
 * one to tell: the program ends there (`std::terminate`), as with any thread. Policies, input handlers and sinks may
 * throw: their pages say how that ends.
 * \par Fork A forked child cannot use an executor of its parent: operations fail with errc::not_running, and the
 * destructors of executors and runtimes end nothing there, and wait for nothing. Around a fork an application calls
 * `notify_fork` of its own I/O context, as Asio demands: a child that runs or destroys the context without it takes
 * events away from its parent.
 */
class executor_base {
  public:
    /// The states of a kernel.
    using kernel_state = detail::kernel_state;

    /// A file that decides about actions, or runs on the host, and that code in the kernel can change all the same.
    using unprotected_file = detail::unprotected_file;

    /// The result of an installation of packages.
    using installation = detail::installation;

    /// How an accepted action ended: for `record_outcome`.
    using action_outcome = detail::action_outcome;

    /**
     * \brief Starts the kernel and waits until it answers. Executing does that by itself; starting early saves the
     * wait.
     * \details Does nothing when it runs. After `stop()` it starts a fresh kernel.
     * \par Errors condition::cannot_start — the error says what to install or change; errc::kernel_unresponsive — not
     * within `kernel.init_timeout`
     * \par Cancellation      terminal, partial, total: a queued start is removed, a start under way is abandoned; the
     * call completes with condition::cancelled. The kernel then is stopped, and the next call starts one.
     */
    [[nodiscard]] result<void> start();

    /// \copydoc start
    template <asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_start(Token&& token = Token{}) {
        return initiate<void>(&executor_base::submit_start, std::forward<Token>(token));
    }

    /**
     * \brief Runs one block of Python code in the kernel.
     * \details Waits its turn, then for the reply and all output. The namespace stays for the calls that follow.
     * \par Completion        void(result<execution_result>), exactly once, never inline
     * \par Errors            errc::python_error — the code raised; condition::timeout — the budget ran out and the code
     * was interrupted; condition::cancelled; errc::kernel_died — with `error::status()`; errc::message_too_large — the
     * code is too long for one message, and was not begun; errc::io_error — an image or spill file cannot be written;
     * those of `start`. Each carries in `error::output()` what was printed and displayed before it.
     * \par Cancellation      terminal, partial, total: the code is interrupted, its output drained, the call completes
     * with condition::cancelled, the executor stays usable; before the code has started it never runs, and a kernel
     * that is started for it is given up
     * \par Object lifetimes  Code and options are copied; the executor may be destroyed meanwhile.
     * \par Example
     * \snippet 01_hello.cpp execute
     */
    [[nodiscard]] result<execution_result> execute(std::string code, execute_options options = {});

    /**
     * \copydoc execute
     * \par In coroutines     Give options a name before the `co_await` expression, above all such with an input
     * handler. GCC 12 destroys an aggregate in braces twice that stands in the expression itself: `co_await
     * box.async_execute(code, {.timeout = 5s})`
     */
    template <asio::completion_token_for<void(result<execution_result>)> Token = asio::use_awaitable_t<>>
    auto async_execute(std::string code, execute_options options, Token&& token = Token{}) {
        return asio::async_initiate<Token, void(result<execution_result>)>(
            [session = session_](auto handler, std::string text, execute_options call) {
                submit_execute(session, std::move(text), std::move(call), {std::move(handler), lender_of(*session)});
            },
            token, std::move(code), std::move(options));
    }

    /// \copydoc execute
    template <asio::completion_token_for<void(result<execution_result>)> Token>
    auto async_execute(std::string code, Token&& token) {
        return async_execute(std::move(code), execute_options(), std::forward<Token>(token));
    }

    /// \copydoc execute
    /// An overload and no default argument: options that are none of the caller's must not be part of a `co_await`
    /// expression.
    asio::awaitable<result<execution_result>> async_execute(std::string code);

    /// Runs one block of code and yields its events as they come. Waits its turn like `execute`; returns at once.
    [[nodiscard]] execution_stream stream(std::string code, execute_options options = {});

    /**
     * \brief Runs one block of Python code as a job: returns a handle of it at once. Waits its turn like `execute`.
     * \details The job goes on when the handle is dropped, and ends as that of `execute` would: by itself, by
     * `execute_options::timeout`, by `cancel` of it or of the executor.
     * \par Errors none: where the executor is unusable, the job has ended with the error that says why
     * \par Object lifetimes  Code and options are copied; the executor may be destroyed meanwhile.
     * \par Example
     * \snippet 22_jobs.cpp submit
     */
    [[nodiscard]] job submit(std::string code, execute_options options = {});

    /**
     * \brief The value of a variable of the code as JSON: what `execution_result::value` may be, and None as null.
     * \details Waits its turn like `execute`, and then for `executor_options::kernel.value_timeout` at most. Output of
     * threads of the code in that time begins the output of the next execution. Large arrays are better written to a
     * file.
     * \par Errors errc::python_error — `NameError`: there is no such variable; errc::invalid_argument — the name is not
     * an ASCII identifier of Python, or the value is not JSON, or too large, as the text says;
     * errc::ipykernel_unsupported — the kernel does not have IPython; condition::timeout; others of `execute`
     * \par Cancellation as `execute`
     * \par Example
     * \snippet 23_values.cpp get
     */
    [[nodiscard]] result<json_value> get(std::string name);

    /// \copydoc get
    template <asio::completion_token_for<void(result<json_value>)> Token = asio::use_awaitable_t<>>
    auto async_get(std::string name, Token&& token = Token{}) {
        return asio::async_initiate<Token, void(result<json_value>)>(
            [session = session_](auto handler, std::string variable) {
                submit_get(session, std::move(variable), {std::move(handler), lender_of(*session)});
            },
            token, std::move(name));
    }

    /**
     * \brief Sets a variable of the code. Waits its turn as `get` does.
     * \details Include `nlohmann/json.hpp`, as `ipybox.hpp` does. Members of an `ordered_json` keep their order.
     * \par Errors errc::invalid_argument — the name, as for `get`; the value has more than 1 MiB as JSON, a number that
     * is not finite, or text that is not UTF-8; others as for `get`
     * \par Cancellation as `execute`; the variable may be set all the same
     */
    [[nodiscard]] result<void> put(std::string name, nlohmann::ordered_json const& value);

    /// \copydoc put
    /// A template, so that braces mean an `ordered_json`.
    template <std::same_as<nlohmann::json> Json>
    [[nodiscard]] result<void> put(std::string name, Json const& value) {
        return put_text(std::move(name), json_of(value));
    }

    /// \copydoc put
    template <asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_put(std::string name, nlohmann::ordered_json const& value, Token&& token = Token{}) {
        return initiate_put(std::move(name), json_of(value), token);
    }

    /// \copydoc put
    template <std::same_as<nlohmann::json> Json,
              asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_put(std::string name, Json const& value, Token&& token = Token{}) {
        return initiate_put(std::move(name), json_of(value), token);
    }

    /**
     * \brief Ends the kernel in order, behind everything that was submitted, and yields what it puts out until then:
     * what threads and exit functions print.
     * \details The last event is the result. Calls that come later fail with errc::kernel_died, as after `exit()`,
     * until `reset()`. `stop()` does not wait its turn, and drops that output.
     * \par Errors condition::timeout — the kernel was killed, as it did not end within `end_grace`
     */
    [[nodiscard]] execution_stream finish();

    /**
     * \brief Cancels every execution that was submitted until now: the running one is interrupted, waiting ones never
     * start.
     * \details They complete with condition::cancelled and the output so far. Code that does not end within
     * `interrupt_grace` loses its kernel to a fresh one, and the error's output says so. Returns at once.
     */
    void cancel();

    /**
     * \brief Raises KeyboardInterrupt in the running code, as Ctrl-C would; its call ends as the code makes it end.
     * \details Returns once the interrupt is on its way.
     * \par Cancellation terminal, partial, total: the call completes with condition::cancelled at once; the exception
     * may be raised all the same
     */
    [[nodiscard]] result<void> interrupt();

    /// \copydoc interrupt
    template <asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_interrupt(Token&& token = Token{}) {
        return initiate<void>(&executor_base::submit_interrupt, std::forward<Token>(token));
    }

    /**
     * \brief Replaces the kernel by a fresh one. Executions that were submitted before are cancelled, later ones run in
     * the fresh kernel.
     * \par Errors as `start`
     * \par Cancellation      as `start`; the executions stay cancelled
     */
    [[nodiscard]] result<void> reset();

    /// \copydoc reset
    template <asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_reset(Token&& token = Token{}) {
        return initiate<void>(&executor_base::submit_reset, std::forward<Token>(token));
    }

    /**
     * \brief Ends the kernel and the MCP servers; outstanding executions complete with errc::not_running. `start()`
     * starts a fresh kernel.
     * \par Cancellation none: the executions have ended with the call, and ending kernel and servers takes seconds at
     * most
     */
    [[nodiscard]] result<void> stop();

    /// \copydoc stop
    template <asio::completion_token_for<void(result<void>)> Token = asio::use_awaitable_t<>>
    auto async_stop(Token&& token = Token{}) {
        return initiate<void>(&executor_base::submit_stop, std::forward<Token>(token));
    }

    /**
     * \brief Registers an MCP server: from then on the name stands for these parameters, and code may ask for its
     * tools.
     * \details The server starts with its first use, on the host and outside of the sandbox, and stops with `reset()`.
     * Parameters never leave the host.
     * \par Errors errc::invalid_argument — the name is not a Python identifier; the parameters name neither a program
     * nor a URL; errc::mcp_server_exists
     */
    [[nodiscard]] result<void> register_mcp_server(std::string name, mcp::server_params params);

    /**
     * \brief Registers the servers of an `mcpServers` file, as Claude, Cursor and VS Code write it: all that can be
     * reached, or none.
     * \details A name that Python cannot import is registered with `_` for what cannot be in it. \return the names, and
     * notices of what is not as in the file
     * \param file the configuration
     * \param timeouts in the place of what the entries say
     * \par Errors errc::io_error, errc::invalid_argument — the file, or what is wrong in it; errc::mcp_server_exists
     */
    [[nodiscard]] result<mcp::registered_servers> register_mcp_servers(std::filesystem::path const& file,
                                                                       mcp::server_timeouts const& timeouts = {});

    /// Gives a name other parameters, whether it is registered or not: what runs under it is stopped. \par Errors
    /// errc::invalid_argument, as above
    [[nodiscard]] result<void> replace_mcp_server(std::string name, mcp::server_params params);

    /// Forgets a server and stops it. \return whether there was one
    bool remove_mcp_server(std::string const& name);

    /// The MCP servers themselves; none of an executor that was moved from.
    [[nodiscard]] std::shared_ptr<mcp::server_registry> mcp_registry() const;

    /// The names of the registered servers.
    [[nodiscard]] std::vector<std::string> mcp_servers() const;

    /**
     * \brief The files and directories that code in the kernel can change, though MCP servers are started from them or
     * `executor_options::sandbox.read_only` names them.
     * \details To be asked for after servers were registered, and shown to the user. A sandbox protects what was known
     * when it was started; the next kernel, as after `reset()`, gets another one where more is to be protected. A
     * runtime's sandbox stays as it is. Before the first kernel the answer is about the sandbox that it will get.
     * \return nothing for what the sandbox keeps read-only. Without a sandbox code can change everything that the user
     * can, of which only the working directory is looked at here.
     */
    [[nodiscard]] std::vector<unprotected_file> unprotected_files() const;

    /**
     * \brief Generates the Python API of a registered server's tools, or of the application's: the package
     * `root_dir/server`.
     * \details Code calls them as `from mcptools.server import tool; tool.run(tool.Params(…))` where `root_dir` is
     * `mcptools` in the working directory. A package that is there already is replaced in one step. Include
     * `ipybox/codegen.hpp`, as `ipybox.hpp` does: it has the type of the result, and the options.
     * \par Errors those of starting the server; errc::invalid_argument — what stands at `root_dir/server` is not ours;
     * errc::io_error
     */
    [[nodiscard]] result<codegen::generated_sources>
    generate_mcp_sources(std::string server, std::filesystem::path root_dir, codegen::generate_options const& options);
    /// \copydoc generate_mcp_sources
    [[nodiscard]] result<codegen::generated_sources> generate_mcp_sources(std::string server,
                                                                          std::filesystem::path root_dir);

    /// Called with the name of a server and its package, or why there is none.
    using package_listener =
        std::function<void(std::string const& server, result<codegen::generated_sources> const& package)>;

    /**
     * \brief Offers the tools of registered servers to the code: the package of each is generated when code needs it.
     * \details `root_dir/__init__.py` is written at once. An import of `mcptools.SERVER` has that package generated and
     * waits for it; `mcptools.search` does so for all. One that cannot be generated is an ImportError with the reason,
     * which a further import tries again.
     * \param servers their names
     * \param root_dir as of `generate_mcp_sources`
     * \param heard is called with each package, on the thread of the executor; may be empty
     * \par Errors errc::io_error — `root_dir/__init__.py` cannot be written; errc::not_running
     */
    [[nodiscard]] result<void> offer_mcp_sources(std::vector<std::string> servers, std::filesystem::path root_dir,
                                                 package_listener heard = {});

    /// The same for servers that are registered when code needs them first, once that is approved: the executor has one
    /// such source at most.
    [[nodiscard]] result<void> offer_mcp_sources(std::shared_ptr<detail::server_source> source,
                                                 std::filesystem::path root_dir, package_listener heard = {});

    /// Generates the packages that are offered and were not needed yet, in the background.
    void begin_mcp_sources();

    /**
     * \copydoc generate_mcp_sources
     * \details Files are written on a thread of the library; a filter is called there, and what it throws is the call's
     * error.
     * \par Cancellation terminal, partial, total: the call completes with condition::cancelled at once; the package may
     * be written all the same
     */
    template <class Token = asio::use_awaitable_t<>>
        requires(!std::same_as<std::remove_cvref_t<Token>, codegen::generate_options>)
    auto async_generate_mcp_sources(std::string server, std::filesystem::path root_dir, Token&& token = Token{}) {
        return initiate_generation(std::move(server), std::move(root_dir), nullptr, token);
    }

    /// \copydoc async_generate_mcp_sources
    template <class Options, class Token = asio::use_awaitable_t<>>
        requires std::same_as<Options, codegen::generate_options>
    auto async_generate_mcp_sources(std::string server, std::filesystem::path root_dir, Options options,
                                    Token&& token = Token{}) {
        auto const how = std::make_shared<Options const>(std::move(options));
        return initiate_generation(std::move(server), std::move(root_dir), how, token);
    }

    /**
     * \brief Offers a function of the application to the code, as a tool of the package `package`:
     * `mcptools.host.NAME.run(…)`.
     * \details Its package is generated as that of a server: `generate_mcp_sources("host", …)`. A generated package is
     * written again when tools of it are added or removed, and code finds them without a reset. Calls of it are
     * approved and recorded as those of every tool. Include `ipybox/tools.hpp`.
     * \par Errors errc::invalid_argument — there is a tool of that name, or what is wrong with its name or its schema;
     * errc::mcp_server_exists — `package` is an MCP server; errc::io_error — the package cannot be written again: the
     * tool was added
     */
    [[nodiscard]] result<void> add_tool(host_tool tool, std::string const& package = "host");

    /// Offers several, all or none. \par Errors as `add_tool`
    [[nodiscard]] result<void> add_tools(host_tools const& list);

    /**
     * \brief Withdraws a tool. Its calls end with errc::not_running; code that has imported it gets a
     * `ToolRunnerError`.
     * \return whether there was one
     * \par Errors errc::io_error — its package cannot be written again: the tool was withdrawn
     */
    [[nodiscard]] result<bool> remove_tool(std::string const& name, std::string const& package = "host");

    /// Withdraws all tools of a package, and the package with them; what was generated of it stays. \return whether
    /// there was one
    bool remove_tools(std::string const& package);

    /// The names of the tools that the application offers: "host.solve".
    [[nodiscard]] std::vector<std::string> tools() const;

    /**
     * \brief Installs packages into the layer that the kernel imports from (`executor_options::kernel.packages`):
     * `words` are those behind `pip install`, names with versions.
     * \details Waits its turn until there is a kernel; executions that come later run beside pip, and may import what
     * is installed as soon as this has completed. The approval gate decides, as about `%pip install` (kind `package`,
     * argv `pip install …`). pip runs outside of the kernel, and reaches the hosts of the index alone. Nothing that is
     * installed is replaced. Ends with the kernel.
     * \par Errors errc::approval_rejected, approval_timed_out; errc::invalid_argument — there is no layer, or a word
     * that is neither a package nor an option that may be used; errc::package_conflict, package_index_unreachable,
     * pip_missing, package_not_installed, package_layer_full — the text says what to do and what pip said;
     * condition::timeout — `package_layer::options::timeout`; errc::sandbox_unavailable — pip needs bubblewrap; those
     * of `start`
     * \par Cancellation terminal, partial, total: the call completes with condition::cancelled at once; the packages
     * may be installed all the same
     */
    [[nodiscard]] result<installation> install_package(std::vector<std::string> words);
    /// Installs one package.
    [[nodiscard]] result<installation> install_package(std::string name);

    /// \copydoc install_package
    template <asio::completion_token_for<void(result<installation>)> Token = asio::use_awaitable_t<>>
    auto async_install_package(std::vector<std::string> words, Token&& token = Token{}) {
        return asio::async_initiate<Token, void(result<installation>)>(
            [session = session_](auto handler, std::vector<std::string> wanted) {
                submit_installation(session, std::move(wanted), {std::move(handler), lender_of(*session)});
            },
            token, std::move(words));
    }

    /**
     * \brief Has the approval gate decide about an action of the application that another party wants, such as a model
     * that registers a server.
     * \details Rules, grants, the audit log and the approval policy are those of the code's actions. The request
     * belongs to no cell; it needs no kernel.
     * \return the request's id, for `record_outcome`
     * \par Errors errc::approval_rejected, approval_timed_out
     * \par Cancellation terminal, partial, total: the call completes with condition::cancelled at once; what is decided
     * later counts for nothing
     */
    template <asio::completion_token_for<void(result<std::uint64_t>)> Token = asio::use_awaitable_t<>>
    auto async_approve(approval_subject subject, Token&& token = Token{}) {
        return asio::async_initiate<Token, void(result<std::uint64_t>)>(
            [session = session_](auto handler, approval_subject wanted) {
                submit_approval(session, std::move(wanted), {std::move(handler), lender_of(*session)});
            },
            token, std::move(subject));
    }

    /// Records in the audit log, where there is one, how an action that `async_approve` accepted has ended.
    void record_outcome(std::uint64_t id, action_outcome how);

    /**
     * \brief Accepts actions without asking, from now on, as long as the grant says and the executor lives.
     * \details One for a cell covers nothing here: it belongs to the answer to a request.
     * \return the number of the grant, as the audit log has it; 0 when the executor has been moved from
     */
    std::uint64_t add_grant(grant what);

    /// Takes a grant back, also one that came with a decision: the next action is asked about. \return whether there
    /// was one of this number
    bool revoke_grant(std::uint64_t number);

    /// The grants that hold now, of `add_grant` and of decisions, in the order they were given.
    [[nodiscard]] std::vector<grant::active> grants() const;

    /// The state of the kernel; a snapshot.
    [[nodiscard]] kernel_state state() const noexcept;

    /// The strand that the executor works on. A copy of it keeps nothing: let go of it before its I/O context goes,
    /// which is the application's, or ends with this object.
    [[nodiscard]] asio::any_io_executor get_executor() const;

  protected:
    /// For the classes that are derived from it.
    explicit executor_base(std::shared_ptr<detail::session_handle> session) noexcept;

    // Not public: an executor is moved and destroyed as what it is, with its policies.
    /// Operations of the other executor fail with errc::not_running afterwards.
    executor_base(executor_base&&) noexcept;
    /// Ends its own kernel as the destructor does. Operations of the other executor fail with errc::not_running
    /// afterwards.
    executor_base& operator=(executor_base&&) noexcept;
    /// Ends the kernel.
    ~executor_base();

  private:
    using session_ptr = std::shared_ptr<detail::session_handle>;
    using submit_function = void (*)(session_ptr const&, detail::completion<result<void>>);

    template <class T, class Token>
    auto initiate(submit_function begin, Token&& token) {
        return asio::async_initiate<Token, void(result<T>)>(
            [session = session_, begin](auto handler) { begin(session, {std::move(handler), lender_of(*session)}); },
            token);
    }

    [[nodiscard]] result<void> write_again(std::string const& package);
    using offer = std::function<void(detail::session&, detail::generated_place const&)>;
    [[nodiscard]] result<void> offer_in(std::filesystem::path root_dir, offer made);

    using generate_how = std::shared_ptr<codegen::generate_options const>;

    template <class Token>
    auto initiate_generation(std::string server, std::filesystem::path root_dir, generate_how how, Token& token) {
        return asio::async_initiate<Token, void(result<codegen::generated_sources>)>(
            [session = session_](auto handler, std::string name, std::filesystem::path root, generate_how options) {
                submit_generation(session, std::move(name), std::move(root), std::move(options),
                                  {std::move(handler), lender_of(*session)});
            },
            token, std::move(server), std::move(root_dir), std::move(how));
    }

    static void submit_generation(session_ptr const&, std::string server, std::filesystem::path root_dir, generate_how,
                                  detail::completion<result<codegen::generated_sources>>);
    static result<std::string> json_of(nlohmann::ordered_json const& value);
    static result<std::string> json_of(nlohmann::json const& value);
    [[nodiscard]] result<void> put_text(std::string name, result<std::string> json);

    template <class Token>
    auto initiate_put(std::string name, result<std::string> json, Token& token) {
        return asio::async_initiate<Token, void(result<void>)>(
            [session = session_](auto handler, std::string variable, result<std::string> text) {
                submit_put(session, std::move(variable), std::move(text), {std::move(handler), lender_of(*session)});
            },
            token, std::move(name), std::move(json));
    }

    static void submit_get(session_ptr const&, std::string name, detail::completion<result<json_value>>);
    static void submit_put(session_ptr const&, std::string name, result<std::string> json,
                           detail::completion<result<void>>);
    static void submit_installation(session_ptr const&, std::vector<std::string> words,
                                    detail::completion<result<installation>>);
    static void submit_approval(session_ptr const&, approval_subject, detail::completion<result<std::uint64_t>>);
    static void submit_start(session_ptr const&, detail::completion<result<void>>);
    static void submit_interrupt(session_ptr const&, detail::completion<result<void>>);
    static void submit_reset(session_ptr const&, detail::completion<result<void>>);
    static void submit_stop(session_ptr const&, detail::completion<result<void>>);
    static void submit_execute(session_ptr const&, std::string, execute_options,
                               detail::completion<result<execution_result>>);
    execution_stream read_events_of(std::shared_ptr<detail::execution> e);
    static detail::executor_lender const& lender_of(detail::session_handle const&);

    session_ptr session_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/executor_base.ipp>
#endif
