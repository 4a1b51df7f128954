#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/client_description.hpp>
#include <ipybox/mcp/elicitation_answer.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

namespace ipybox::mcp {

namespace detail {
class server_core;
struct running_call;
} // namespace detail

/**
 * \brief A call of a tool, as the handler that serves it sees it.
 * \par Thread safety Unsafe: used on the executor that `server::serve` runs on. It may be kept after the call has
 * ended; `elicit` and `progress` then do nothing.
 */
class server_call {
  public:
    explicit server_call(std::shared_ptr<detail::running_call> call) noexcept;

    [[nodiscard]] std::string const& tool() const noexcept;

    /// An object that fits the tool's input schema, its members in the order in which they were sent; none occurs
    /// twice.
    [[nodiscard]] nlohmann::ordered_json const& arguments() const noexcept;

    /// The same as text, with integers of any size.
    [[nodiscard]] raw_json const& raw_arguments() const noexcept;

    [[nodiscard]] client_description const& client() const noexcept;

    /// Whether the call was cancelled, or the client is gone. The result is then dropped.
    [[nodiscard]] bool cancelled() const noexcept;

    /// Whether the client's user can be asked.
    [[nodiscard]] bool can_elicit() const noexcept;

    /**
     * \brief Asks the client's user, and waits for the answer.
     * \details In the handshake era a request of the server's own; since 2026-07-28 the answer to the request that is
     * open, which the client sends anew with what its
     * user said: the handler waits meanwhile and sees none of it. Several questions may be open at once.
     * \param message  what the user reads
     * \param schema   JSON Schema of the form: an object with members that are strings, numbers, booleans or
     * enumerations
     * \par Errors errc::mcp_input_required — the client declares no forms, or has as many open questions as are
     * allowed; errc::mcp_refused — it answered with an error;
     * errc::timed_out — no answer within `server_limits::question_timeout`; errc::protocol_error — the answer is not
     * one; errc::invalid_argument — the schema cannot be
     * written; condition::cancelled — the call was cancelled or the client is gone
     * \par Cancellation any type: the question is withdrawn
     */
    asio::awaitable<result<elicitation_answer>> elicit(std::string message, nlohmann::ordered_json schema);

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

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_call.ipp>
#endif
