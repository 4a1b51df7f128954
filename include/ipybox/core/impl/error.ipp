#pragma once

#include <ipybox/core/error.hpp>
#include <ipybox/core/never_destroyed.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <ostream>
#include <string>
#include <utility>

namespace ipybox {
namespace detail {

class error_category_type final : public std::error_category {
  public:
    char const* name() const noexcept override { return "ipybox"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
        case errc::python_error: return "the code raised an exception";
        case errc::timed_out: return "the time budget of the call ran out";
        case errc::cancelled: return "the call was cancelled";
        case errc::kernel_died: return "the kernel process ended";
        case errc::kernel_start_failed: return "the kernel could not be started";
        case errc::kernel_unresponsive: return "the kernel did not answer within its bound";
        case errc::python_not_found: return "no usable Python interpreter was found";
        case errc::ipykernel_missing: return "the Python interpreter lacks ipykernel";
        case errc::ipykernel_unsupported: return "this version of ipykernel or IPython is not supported";
        case errc::kernelspec_not_found: return "there is no kernelspec of that name";
        case errc::sandbox_unavailable: return "the requested sandbox is unavailable here";
        case errc::supervisor_died: return "the process that owns the kernels ended";
        case errc::invalid_argument: return "an option or argument cannot be used";
        case errc::not_running: return "the executor has been stopped";
        case errc::would_deadlock:
            return "a blocking call was made from the thread that would have to serve it; call the async_ operation, "
                   "or block on another thread";
        case errc::protocol_error: return "the other side broke the protocol";
        case errc::message_too_large: return "a message is larger than its bound";
        case errc::io_error: return "the operating system refused an operation";
        case errc::approval_rejected: return "the application rejected an action";
        case errc::approval_timed_out: return "the application did not decide in time";
        case errc::audit_failed: return "the audit log could not be written";
        case errc::program_not_started: return "a program that code asked for could not be started";
        case errc::guard_unavailable: return "the system cannot keep code from starting programs by itself";
        case errc::mcp_server_unknown: return "no MCP server of that name is registered";
        case errc::mcp_server_exists: return "an MCP server of that name is registered already";
        case errc::mcp_start_failed: return "the MCP server could not be started";
        case errc::mcp_version_unsupported: return "the MCP server speaks no version of the protocol that is known";
        case errc::mcp_unresponsive: return "the MCP server did not answer within its bound";
        case errc::mcp_server_died: return "the MCP server ended";
        case errc::mcp_refused: return "the MCP server answered with an error";
        case errc::mcp_input_required: return "the MCP server asks for input, which the client does not give";
        case errc::variable_not_set: return "a variable that a configuration names is not set";
        case errc::pip_missing: return "the interpreter has no pip that can install packages";
        case errc::package_index_unreachable: return "the index of packages cannot be reached";
        case errc::package_conflict: return "a package would need another version of what is installed";
        case errc::package_not_installed: return "pip could not install a package";
        case errc::still_running: return "the job has not ended";
        case errc::package_layer_full: return "packages would take more of the disk than their layer may";
        case errc::mcp_unreachable: return "an MCP server cannot be reached over HTTP";
        case errc::mcp_unauthorized: return "an MCP server wants a sign-in, or another one";
        }
        return "unknown ipybox error";
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
        case errc::timed_out:
        case errc::kernel_unresponsive:
        case errc::approval_timed_out:
        case errc::mcp_unresponsive: return condition::timeout;
        case errc::cancelled: return condition::cancelled;
        case errc::kernel_died:
        case errc::supervisor_died: return condition::kernel_lost;
        case errc::kernel_start_failed:
        case errc::python_not_found:
        case errc::ipykernel_missing:
        case errc::ipykernel_unsupported:
        case errc::kernelspec_not_found:
        case errc::sandbox_unavailable:
        case errc::guard_unavailable: return condition::cannot_start;
        default: return std::error_condition(value, *this);
        }
    }
};

class condition_category_type final : public std::error_category {
  public:
    char const* name() const noexcept override { return "ipybox.condition"; }

    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
        case condition::timeout: return "a time budget ran out";
        case condition::cancelled: return "the operation was cancelled";
        case condition::kernel_lost: return "the kernel and its state are gone";
        case condition::cannot_start: return "no kernel can be started here";
        }
        return "unknown ipybox condition";
    }
};

} // namespace detail

IPYBOX_DECL std::string_view to_string(errc code) noexcept {
    switch (code) {
    case errc::python_error: return "python_error";
    case errc::timed_out: return "timed_out";
    case errc::cancelled: return "cancelled";
    case errc::kernel_died: return "kernel_died";
    case errc::kernel_start_failed: return "kernel_start_failed";
    case errc::kernel_unresponsive: return "kernel_unresponsive";
    case errc::python_not_found: return "python_not_found";
    case errc::ipykernel_missing: return "ipykernel_missing";
    case errc::ipykernel_unsupported: return "ipykernel_unsupported";
    case errc::kernelspec_not_found: return "kernelspec_not_found";
    case errc::sandbox_unavailable: return "sandbox_unavailable";
    case errc::supervisor_died: return "supervisor_died";
    case errc::invalid_argument: return "invalid_argument";
    case errc::not_running: return "not_running";
    case errc::would_deadlock: return "would_deadlock";
    case errc::protocol_error: return "protocol_error";
    case errc::message_too_large: return "message_too_large";
    case errc::io_error: return "io_error";
    case errc::approval_rejected: return "approval_rejected";
    case errc::approval_timed_out: return "approval_timed_out";
    case errc::audit_failed: return "audit_failed";
    case errc::program_not_started: return "program_not_started";
    case errc::guard_unavailable: return "guard_unavailable";
    case errc::mcp_server_unknown: return "mcp_server_unknown";
    case errc::mcp_server_exists: return "mcp_server_exists";
    case errc::mcp_start_failed: return "mcp_start_failed";
    case errc::mcp_version_unsupported: return "mcp_version_unsupported";
    case errc::mcp_unresponsive: return "mcp_unresponsive";
    case errc::mcp_server_died: return "mcp_server_died";
    case errc::mcp_refused: return "mcp_refused";
    case errc::mcp_input_required: return "mcp_input_required";
    case errc::variable_not_set: return "variable_not_set";
    case errc::pip_missing: return "pip_missing";
    case errc::package_index_unreachable: return "package_index_unreachable";
    case errc::package_conflict: return "package_conflict";
    case errc::package_not_installed: return "package_not_installed";
    case errc::still_running: return "still_running";
    case errc::package_layer_full: return "package_layer_full";
    case errc::mcp_unreachable: return "mcp_unreachable";
    case errc::mcp_unauthorized: return "mcp_unauthorized";
    }
    return "unknown";
}

IPYBOX_DECL std::string_view error::name() const noexcept { return to_string(static_cast<errc>(code_.value())); }

IPYBOX_DECL std::string_view to_string(condition group) noexcept {
    switch (group) {
    case condition::timeout: return "timeout";
    case condition::cancelled: return "cancelled";
    case condition::kernel_lost: return "kernel_lost";
    case condition::cannot_start: return "cannot_start";
    }
    return "unknown";
}

IPYBOX_DECL std::error_category const& detail::error_category() noexcept {
    static auto const& category = never_destroyed<error_category_type>();
    return category;
}

IPYBOX_DECL std::error_category const& detail::condition_category() noexcept {
    static auto const& category = never_destroyed<condition_category_type>();
    return category;
}

IPYBOX_DECL error::error(errc code, std::string text)
    : code_(make_error_code(code)), text_(text.empty() ? code_.message() : std::move(text)) {}

IPYBOX_DECL error::error(errc code, error::python_exception exception)
    : code_(make_error_code(code)),
      text_(exception.evalue.empty() ? exception.ename : exception.ename + ": " + exception.evalue),
      exception_(std::make_shared<error::python_exception const>(std::move(exception))) {}

IPYBOX_DECL error& error::with_status(exit_status status) {
    status_ = status;
    return *this;
}

IPYBOX_DECL error& error::with_cause(std::error_code cause) noexcept {
    cause_ = cause;
    return *this;
}

IPYBOX_DECL error& error::with_exception(error::python_exception exception) {
    exception_ = std::make_shared<error::python_exception const>(std::move(exception));
    return *this;
}

IPYBOX_DECL error& error::with_output(std::shared_ptr<execution_result const> output) {
    output_ = std::move(output);
    return *this;
}

IPYBOX_DECL error& error::with_decided_by(error::decider who) noexcept {
    decided_by_ = who;
    return *this;
}

IPYBOX_DECL std::ostream& operator<<(std::ostream& out, error const& e) {
    if (e != errc::python_error || e.exception_->traceback.empty()) return out << e.text_;
    auto separator = "";
    for (auto const& line : e.exception_->traceback) {
        out << separator << line;
        separator = "\n";
    }
    return out;
}

/// A cure for errors whose words, the system's, name none; empty for others.
inline std::string advice_for(int number) {
    rlimit limit{};
    if (number != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
    return ": this process may write no more than " + std::to_string(limit.rlim_cur) +
           " bytes to a file (RLIMIT_FSIZE, `ulimit -f`); raise that limit";
}

IPYBOX_DECL error detail::system_failure(std::string_view what, int number) {
    auto text = std::string(what).append(": ").append(std::generic_category().message(number));
    text += advice_for(number);
    return error(errc::io_error, std::move(text)).with_cause({number, std::generic_category()});
}

} // namespace ipybox
