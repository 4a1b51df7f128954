#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/exit_status.hpp>

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ipybox {

struct execution_result;

/// The error codes of the library. Each enumerator has one sentence in the category; the `error` that carries it says
/// the particulars.
enum class errc {
    python_error = 1,          ///< the code raised an exception
    timed_out,                 ///< the time budget of the call ran out
    cancelled,                 ///< the call was cancelled
    kernel_died,               ///< the kernel process ended
    kernel_start_failed,       ///< the kernel could not be started
    kernel_unresponsive,       ///< the kernel did not answer within its bound
    python_not_found,          ///< no usable Python interpreter
    ipykernel_missing,         ///< the interpreter lacks ipykernel
    ipykernel_unsupported,     ///< the interpreter's ipykernel or IPython does not fit
    kernelspec_not_found,      ///< no kernelspec of that name
    sandbox_unavailable,       ///< the requested sandbox is unavailable here
    supervisor_died,           ///< the process that owns the kernels ended
    invalid_argument,          ///< an option or argument cannot be used
    not_running,               ///< the executor has been stopped
    would_deadlock,            ///< a blocking call from the thread that would have to serve it
    protocol_error,            ///< the other side broke the protocol
    message_too_large,         ///< a message is larger than its bound
    io_error,                  ///< the operating system refused an operation
    approval_rejected,         ///< the application rejected an action
    approval_timed_out,        ///< the application did not decide in time
    audit_failed,              ///< the audit log could not be written
    program_not_started,       ///< a program that code asked for could not be started
    guard_unavailable,         ///< the system cannot keep code from starting programs by itself
    mcp_server_unknown,        ///< no MCP server of that name is registered
    mcp_server_exists,         ///< an MCP server of that name is registered already
    mcp_start_failed,          ///< an MCP server could not be started
    mcp_version_unsupported,   ///< an MCP server speaks no version of the protocol that is known
    mcp_unresponsive,          ///< an MCP server did not answer within its bound
    mcp_server_died,           ///< an MCP server ended
    mcp_refused,               ///< an MCP server answered with an error
    mcp_input_required,        ///< an MCP server asks for input, which the client does not give
    variable_not_set,          ///< a variable that a configuration names is not set
    pip_missing,               ///< the interpreter has no pip that can install packages
    package_index_unreachable, ///< the index of packages cannot be reached
    package_conflict,          ///< a package would need another version of what is installed
    package_not_installed,     ///< pip could not install a package
    still_running,             ///< a job has not ended
    package_layer_full,        ///< packages would take more of the disk than their layer may
    mcp_unreachable,           ///< an MCP server cannot be reached over HTTP
    mcp_unauthorized,          ///< an MCP server wants a sign-in, or another one
};

/// The groups of errors that callers branch on: `error == condition::timeout`.
enum class condition {
    timeout = 1,  ///< a time budget ran out, whichever
    cancelled,    ///< the caller wanted the end of the operation
    kernel_lost,  ///< the kernel is gone and with it its state
    cannot_start, ///< no kernel can start before something is installed or changed
};

/// The enumerator's own name, for logs, JSON and other languages: "kernel_died". It stays, whatever the number or the
/// sentence becomes.
[[nodiscard]] std::string_view to_string(errc code) noexcept;
/// The enumerator's own name.
[[nodiscard]] std::string_view to_string(condition group) noexcept;

namespace detail {

[[nodiscard]] std::error_category const& error_category() noexcept;
[[nodiscard]] std::error_category const& condition_category() noexcept;

} // namespace detail

} // namespace ipybox

template <>
struct std::is_error_code_enum<ipybox::errc> : std::true_type {};
template <>
struct std::is_error_condition_enum<ipybox::condition> : std::true_type {};

namespace ipybox {

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), detail::error_category()};
}
[[nodiscard]] inline std::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), detail::condition_category()};
}

/**
 * \brief Why an operation failed: a code to branch on and a text to show.
 * \details The text is the library's own and says what to do where something can be done; what the kernel said is kept
 * apart in `exception()`. An error of an execution carries everything that was printed and displayed before it in
 * `output()`.
 * \par Thread safety Like a value; copies share the immutable parts.
 */
class error {
  public:
    /// An exception of the code in the kernel. Text of the kernel: carried, never interpreted.
    struct python_exception {
        std::string ename;                  ///< class name, "ZeroDivisionError"
        std::string evalue;                 ///< its message
        std::vector<std::string> traceback; ///< frames and message, without ANSI sequences and internal frames
    };

    /// The party that had the last word about an action.
    enum class decider {
        switched_off, ///< approval of its kind is off
        rule,         ///< a rule that allows or denies
        grant,        ///< a grant
        policy,       ///< the approval policy, also by an exception or by dropping the request
        no_policy,    ///< the application has no approval policy, and no stream of it is read
        timeout,      ///< `approval.timeout` passed without a decision
        repetition,   ///< the rejection of the same before, in the same cell
        budget,       ///< the cell had its `calls_per_cell`
        cancellation, ///< the end of the cell, or of the session
        audit,        ///< the audit log, which could not be written
        limit,        ///< a bound of the library: a question that is too long to read is not asked
        sandbox,      ///< the configuration of the sandbox, which names the host
    };

    /// The enumerator's own name, as in logs.
    [[nodiscard]] friend constexpr std::string_view to_string(decider who) noexcept {
        switch (who) {
        case decider::switched_off: return "switched_off";
        case decider::rule: return "rule";
        case decider::grant: return "grant";
        case decider::policy: return "policy";
        case decider::no_policy: return "no_policy";
        case decider::timeout: return "timeout";
        case decider::repetition: return "repetition";
        case decider::budget: return "budget";
        case decider::cancellation: return "cancellation";
        case decider::audit: return "audit";
        case decider::limit: return "limit";
        case decider::sandbox: return "sandbox";
        }
        return "unknown";
    }

    /// An error of the library.
    error(errc code, std::string text);
    /// An exception of the code, whose name and value become the text.
    error(errc code, python_exception exception);

    /// The code, to be compared with an `errc` or a `condition`.
    [[nodiscard]] std::error_code code() const noexcept { return code_; }
    /// The name of its `errc`, for logs: "kernel_died".
    [[nodiscard]] std::string_view name() const noexcept;
    /// A text for people: what happened, and what to do.
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

    /// The Python exception, or nullptr where the code raised none. Of code that was interrupted (timeout, cancel):
    /// where that struck it.
    [[nodiscard]] python_exception const* exception() const noexcept { return exception_.get(); }

    /// How the kernel ended, for errc::kernel_died.
    [[nodiscard]] exit_status const& status() const noexcept { return status_; }

    /// The output of the execution before the error, or nullptr if nothing was executed.
    [[nodiscard]] execution_result const* output() const noexcept { return output_.get(); }

    /// The error of the operating system, if there was one.
    [[nodiscard]] std::error_code cause() const noexcept { return cause_; }

    /// The one who rejected the action, for errc::approval_rejected and errc::approval_timed_out; none for other
    /// errors.
    [[nodiscard]] std::optional<decider> decided_by() const noexcept { return decided_by_; }

    /// Adds how the process ended.
    error& with_status(exit_status status);
    /// Adds the error of the system behind it.
    error& with_cause(std::error_code cause) noexcept;
    /// Adds the exception of the code.
    error& with_exception(python_exception exception);
    /// Adds the output until then.
    error& with_output(std::shared_ptr<execution_result const> output);
    /// Adds who rejected the action.
    error& with_decided_by(decider who) noexcept;

    /// Whether it is this error.
    friend bool operator==(error const& e, errc code) noexcept { return e.code_ == make_error_code(code); }
    /// Whether it is one of these errors.
    friend bool operator==(error const& e, condition c) noexcept { return e.code_ == make_error_condition(c); }

    /// Writes the text; for a Python exception its traceback.
    friend std::ostream& operator<<(std::ostream& out, error const& e);

  private:
    std::error_code code_;
    std::string text_;
    exit_status status_;
    std::error_code cause_;
    std::optional<decider> decided_by_;
    std::shared_ptr<python_exception const> exception_;
    std::shared_ptr<execution_result const> output_;
};

std::ostream& operator<<(std::ostream& out, error const& e);

namespace detail {

/// "WHAT: strerror(number)" as an errc::io_error.
[[nodiscard]] error system_failure(std::string_view what, int number);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/error.ipp>
#endif
