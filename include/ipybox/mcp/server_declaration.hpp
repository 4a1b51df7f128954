#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/tool.hpp>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

class raw_json;
struct call_result;

namespace detail {
struct running_call;
} // namespace detail

/**
 * \brief A server of the Model Context Protocol that offers tools, in the versions 2024-11-05 to 2025-11-25
 * (`initialize`) and 2026-07-28 (each request says what it speaks).
 * \details A client may speak both over one connection. Calls run beside each other; other requests are answered at
 * once. Progress, cancellation, questions to the user (elicitation) and tasks work in every version that has them.
 * \par Thread safety Distinct objects: safe. One object may serve several connections, each on an executor that runs
 * one handler at a time.
 */
class server {
  public:
    class call;
    class channel;
    struct client_description;
    struct elicitation;
    struct limits;
    struct options;
    struct tool;

    /**
     * \par Errors errc::invalid_argument — a tool has no handler, a name that clients do not accept or that is taken, a
     * schema that is not an object's, or one that cannot be checked here and no `check`
     */
    [[nodiscard]] static result<server> make(options given);

    /// The options that it was made with.
    [[nodiscard]] options const& get_options() const noexcept { return *options_; }

    /**
     * \brief Serves one client until it ends its output, and is then done with it: its calls have been cancelled, and
     * the channel is closed.
     * \details Earlier requests are still answered if the answer is known. Handlers that do not end
     * within `server::limits::end_grace` are left behind.
     * \par Errors errc::io_error — the client took no output for as long as `server::limits::stalled_output`
     * \par Cancellation every type that the coroutine lets through (asio: terminal): as if the client had ended
     */
    asio::awaitable<result<void>> serve(std::shared_ptr<channel> client) const;

  private:
    explicit server(std::shared_ptr<options const> given) noexcept : options_(std::move(given)) {}

    std::shared_ptr<options const> options_;
};

/**
 * \brief The description that a client gives of itself: in `initialize`, or since 2026-07-28 in each request.
 * \details Text of the client: carried, never interpreted, and no proof of anything.
 */
struct server::client_description {
    bool is_stateless = false; ///< it speaks 2026-07-28: each request says what it speaks, and `initialize` is not sent
    std::string version;       ///< of the protocol, as agreed on
    std::string name = {};     ///< of the client; empty where it has none
    std::string client_version = {};                        ///< its own
    nlohmann::json capabilities = nlohmann::json::object(); ///< as declared

    /// Whether it gets output schemas and `structuredContent`, where its version has them.
    bool takes_structured_content = true;

    /// Whether it shows forms to its user. Versions before 2025-06-18 have none, whatever is declared.
    [[nodiscard]] bool answers_forms() const;

    /// Whether a call may become a task for it: the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
    [[nodiscard]] bool takes_tasks() const;
};

/// The answer to a question of a tool. Its content comes from the client and is not validated against the schema that
/// was asked for.
struct server::elicitation {
    /// The choice of the client's user (MCP 2025-11-25, "Elicitation", section "Response Actions").
    enum class response {
        accept,  ///< answered it
        decline, ///< refused to
        cancel,  ///< closed it without a choice
    };

    response action = response::cancel; ///< the choice
    nlohmann::ordered_json content =
        nlohmann::ordered_json::object(); ///< what was filled in; an object, empty unless accepted
};

/**
 * \brief The way to one client: lines in and out.
 * \details The seam between the protocol and its transport, used on one executor that runs one handler at a time.
 */
class server::channel {
  public:
    channel() = default;
    channel(channel const&) = delete;
    channel& operator=(channel const&) = delete;
    virtual ~channel() = default;

    /**
     * \brief The next line of the client, without its end, valid until the next call. None: the client has ended its
     * output, now and for ever.
     * \par Errors errc::message_too_large — a line was dropped because it is too long; the next call gives the next one
     */
    virtual asio::awaitable<result<std::optional<std::string_view>>> receive() = 0;

    /// The `id` in the line that was dropped last, as JSON; empty where it is not known. Its caller then has an answer.
    [[nodiscard]] virtual std::string dropped_id() const { return {}; }

    /// Puts a line on its way, behind those that were sent before. Never waits. A channel that has failed drops it.
    virtual void send(std::string line) = 0;

    /// Bytes that were sent and that the client has not taken.
    [[nodiscard]] virtual std::size_t unread() const noexcept = 0;

    /// Waits until the client has left at most so many bytes. False: it is gone, or took nothing for as long as
    /// `patience`.
    virtual asio::awaitable<bool> drained(std::size_t most, std::chrono::milliseconds patience) = 0;

    /// Ends it: `receive` gives none from now on.
    virtual void close() noexcept = 0;

    /**
     * \brief The channel of a server that its client has started: lines over two descriptors (MCP 2026-07-28, "stdio").
     * \details Pipes, sockets, terminals and files all do. A thread of the channel reads and writes, because the
     * descriptors are shared with the client and must not be made non-blocking. They
     * stay open. Nothing else of the process may write to `output`: the program keeps standard output for this channel,
     * and its own messages go to standard error.
     * \par Errors errc::io_error — no descriptor to wake the thread by, or a descriptor that is not open
     */
    [[nodiscard]] static result<std::shared_ptr<channel>> stdio(std::size_t max_line_in, int input = 0, int output = 1);
};

/**
 * \brief A call of a tool, as the handler that serves it sees it.
 * \par Thread safety Unsafe: used on the executor that `server::serve` runs on. It may be kept after the call has
 * ended; `elicit` and `progress` then do nothing.
 */
class server::call {
  public:
    /// Made by the server.
    explicit call(std::shared_ptr<detail::running_call> running) noexcept;

    /// The name of the tool.
    [[nodiscard]] std::string const& tool() const noexcept;

    /// An object that fits the tool's input schema, its members in the order in which they were sent; none occurs
    /// twice.
    [[nodiscard]] nlohmann::ordered_json const& arguments() const noexcept;

    /// The same as text, with integers of any size.
    [[nodiscard]] raw_json const& raw_arguments() const noexcept;

    /// The client that calls.
    [[nodiscard]] server::client_description const& client() const noexcept;

    /// Whether the call was cancelled, or the client is gone. The result is then dropped.
    [[nodiscard]] bool cancelled() const noexcept;

    /// Whether the client's user can be asked.
    [[nodiscard]] bool can_elicit() const noexcept;

    /**
     * \brief Asks the client's user, and waits for the answer.
     * \details In the handshake era a request of the server's own; since 2026-07-28 the answer to the request that is
     * open, which the client sends anew with what its user said: the handler waits meanwhile and sees none of it.
     * Several questions may be open at once.
     * \param message  what the user reads
     * \param schema   JSON Schema of the form: an object with members that are strings, numbers, booleans or
     * enumerations
     * \par Errors errc::mcp_input_required — the client declares no forms, or has as many open questions as are
     * allowed; errc::mcp_refused — it answered with an error; errc::timed_out — no answer within
     * `server::limits::question_timeout`; errc::protocol_error — the answer is not one; errc::invalid_argument — the
     * schema cannot be written; condition::cancelled — the call was cancelled or the client is gone
     * \par Cancellation any type: the question is withdrawn
     */
    asio::awaitable<result<elicitation>> elicit(std::string message, nlohmann::ordered_json schema);

    /// Whether the client asked for progress.
    [[nodiscard]] bool wants_progress() const noexcept;

    /**
     * \brief Reports how far the call has come, if the client asked for that.
     * \details `done` has to grow: a report that does not is dropped, as are those that the client does not read fast
     * enough. 2024-11-05 has no message.
     */
    void progress(double done, std::optional<double> total = {}, std::optional<std::string> message = {});

  private:
    std::shared_ptr<detail::running_call> call_;
};

/**
 * \brief A tool that a server offers: what clients are told, and what serves a call.
 * \details The handler is a coroutine on the executor that `server::serve` runs on, one for each call, as many beside
 * each other as clients ask for. A tool that fails returns a result with `is_error` and the reason; what a handler
 * throws becomes one. Cancellation (by the client, or because the client is gone) reaches the coroutine as asio's
 * cancellation does, of every type; its result is then dropped.
 */
struct server::tool {
    /// Whether calls of a tool may become tasks, which the client asks for instead of waiting.
    enum class task_support { forbidden, optional };

    /// The reading of arguments that do not fit the input schema.
    enum class argument_reading {
        exact,  ///< they are refused
        lenient ///< what is plainly meant is taken, as clients and models send it: JSON text for an object, a list, a
                ///< number or a truth value, `null` for what may be left out, a number for a text
    };

    /// Serves a call.
    using handler_type = std::function<asio::awaitable<call_result>(std::shared_ptr<call>)>;

    /// Says what is wrong with arguments: "count has to be a number, not \"x\""; nothing where they fit.
    using checker_type = std::function<std::optional<std::string>(nlohmann::json const& arguments)>;

    mcp::tool definition;    ///< name, title, description, schemas, annotations
    handler_type handler;    ///< must not be empty
    checker_type check = {}; ///< none: the input schema decides, which then must not use what `find_unchecked` names
    task_support tasks = task_support::forbidden; ///< whether calls may become tasks

    argument_reading reading = argument_reading::exact; ///< of arguments that do not fit

    /// How long a client that takes tasks by itself (2026-07-28) waits for the result before it gets a task instead.
    std::chrono::milliseconds task_after = std::chrono::seconds(5);
};

/// Bounds on the memory that one client can use, and on the time that a server waits.
struct server::limits {
    /// Bytes of the longest line that is read. A longer one is refused, and the next is read.
    std::size_t max_line_in = std::size_t(64) << 20;

    /// Bytes of the longest result that is sent: some clients drop lines of more than 8 MiB. Of a longer result an
    /// error goes out that says so.
    std::size_t max_line_out = (std::size_t(8) << 20) - (std::size_t(64) << 10);

    std::size_t json_values = 1'000'000; ///< values and names in a line
    std::size_t tools_page = 100;        ///< tools in a page of their list
    std::size_t batch = 100;             ///< messages in a batch (2025-03-26)
    std::size_t calls = 64;              ///< calls that have not ended; one more is refused
    std::size_t questions = 16;          ///< questions that wait for an answer; one more fails
    std::size_t tasks = 32;              ///< tasks that are kept. The oldest that has ended makes room

    /// Bytes of output that the client has not read. Beyond it no further line of it is taken, and progress is dropped.
    std::size_t unread_output = std::size_t(16) << 20;

    std::chrono::milliseconds question_timeout = std::chrono::minutes(10); ///< for an answer of the client's user
    std::chrono::milliseconds task_lifetime = std::chrono::hours(1); ///< from its creation; clients may ask for less
    std::chrono::milliseconds stalled_output =
        std::chrono::minutes(5); ///< a client that reads nothing so long is taken for gone
    std::chrono::milliseconds end_grace = std::chrono::seconds(5); ///< for handlers to end when the client is gone
};

/// The description of a server, its tools and its bounds.
struct server::options {
    std::string name;              ///< for programs: "ipybox"
    std::string version;           ///< its own
    std::string title = {};        ///< for people
    std::string instructions = {}; ///< how to use its tools, for a model
    std::vector<tool> tools = {};  ///< in the order in which they are listed

    /// Names of clients that show a model nothing but `structuredContent` where there is any, and drop images beside
    /// it: they get content alone, and tools without output schemas.
    std::vector<std::string> content_alone = {};

    server::limits limits = {}; ///< bounds for each client

    /// Called when a client has said what it is, with the first request that is not a ping: in each connection once.
    /// Its exceptions are dropped.
    std::function<void(client_description const&)> on_client = {};
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_declaration.ipp>
#endif
