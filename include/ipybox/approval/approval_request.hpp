#pragma once

#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>
#include <ipybox/rules/shell_line.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

class approval_request;

namespace detail {

class decision_state;
class approval_handle;
class decision_state;

/// The place at which the answer to a request arrives. A waiting operation keeps this and not the request: otherwise it
/// would never learn that all copies were dropped.
[[nodiscard]] std::shared_ptr<decision_state> state_of(approval_request const& request);

} // namespace detail

/**
 * \brief An action that waits for approval, and the means to answer.
 * \details Copies are handles of the same request: keep one to answer later. The first answer counts, whichever copy or
 * thread it comes from. When the last copy is gone without an answer, the request is rejected. All text in it comes
 * from the code in the kernel and is not to be trusted.
 * \par Thread safety Safe: distinct copies in distinct threads.
 */
class approval_request {
  public:
    /// The commands of a shell line.
    using shell_line = detail::shell_line;

    /// A request about an action, with an answer of its own.
    explicit approval_request(approval_subject subject);

    /// A request about the same, with an answer of its own.
    explicit approval_request(std::shared_ptr<approval_subject const> subject);

    /// A handle of the same request.
    approval_request(approval_request const&) noexcept = default;
    /// Becomes a handle of the other request.
    approval_request& operator=(approval_request const&) noexcept = default;
    /// The other one still says what the request is about; it is a handle no more: it answers nothing, and knows of no
    /// decision.
    // NOLINTNEXTLINE(cert-oop11-cpp,performance-move-constructor-init): the subject is shared, so that both keep it
    approval_request(approval_request&& other) noexcept : subject_(other.subject_), handle_(std::move(other.handle_)) {}
    /// As the move constructor.
    approval_request& operator=(approval_request&& other) noexcept {
        subject_ = other.subject_;
        handle_ = std::move(other.handle_);
        return *this;
    }
    ~approval_request() = default;

    /// Unique in this process.
    [[nodiscard]] std::uint64_t id() const noexcept { return subject_->id; }
    /// The kind of the action.
    [[nodiscard]] approval_subject::action kind() const noexcept { return subject_->kind; }
    /// Of a tool call: the server, or the package of the application.
    [[nodiscard]] std::string const& server() const noexcept { return subject_->server; }
    /// Of a tool call: the tool.
    [[nodiscard]] std::string const& tool() const noexcept { return subject_->tool; }

    /// Arguments of the tool, in the order they were given; null for the kinds that have none.
    [[nodiscard]] nlohmann::ordered_json const& arguments() const;

    /// The tool's own annotations of its effects, looked up now. None: its server has not listed it yet, or the request
    /// is about something else.
    [[nodiscard]] std::optional<approval_subject::tool_annotations> annotations() const {
        return subject_->annotations.of(subject_->server, subject_->tool);
    }

    /// Of a command or an installation: its words, after every expansion.
    [[nodiscard]] std::vector<std::string> const& argv() const noexcept { return subject_->argv; }

    /**
     * \brief The commands that a shell action starts, without parsing `argv()`: `!git status && make` is two.
     * \details A policy that accepts what it knows has to look at `understood()` first: a line that is not may start
     * more than `commands` has, or something else. Words that a shell expands have `literal == false`. Accept by
     * `accept_commands()` then: that runs what was looked at here, and not how a shell reads the text.
     * \return for `sh -c LINE`, and for a script on the standard input of `sh`, its commands, also those in it;
     * otherwise `argv()` as one command
     */
    [[nodiscard]] shell_line commands() const;

    /// Of a command: its directory.
    [[nodiscard]] std::filesystem::path const& cwd() const noexcept { return subject_->cwd; }
    /// Of a command: variables that it gets besides those of the kernel, or does not get.
    [[nodiscard]] approval_subject::env_difference const& env() const noexcept { return subject_->env; }
    /// Of a command: what it reads from standard input.
    [[nodiscard]] std::string const& input() const noexcept { return subject_->input; }
    /// The whole cell that asks.
    [[nodiscard]] std::string const& code() const noexcept { return subject_->code; }
    /// The cell that asks.
    [[nodiscard]] std::string const& cell_id() const noexcept { return subject_->cell_id; }
    /// When it is rejected without an answer.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> const& deadline() const noexcept {
        return subject_->deadline;
    }

    /// All of it; may outlive the request, and keeps no code waiting.
    [[nodiscard]] std::shared_ptr<approval_subject const> const& subject() const noexcept { return subject_; }

    /// The action may be done. Returns whether this was the first answer, as do the others.
    bool accept() const;

    /// The action may be done as `commands()` has it: see `decision::accept_commands`.
    bool accept_commands() const;

    /// The tool may be called with these arguments. Rejects a request that has no arguments.
    bool accept(nlohmann::ordered_json edited_arguments) const;

    /// The action may be done, and what the grant covers from now on without asking. This is the grant's first use,
    /// where it covers this action.
    bool accept_and_grant(grant const& given) const;

    /// The action must not be done; the code that wanted it gets the reason.
    bool reject(std::string reason = {}, decision::when_repeated again = decision::when_repeated::reject) const;

    /// Answers with a decision that was made elsewhere.
    bool answer(decision decision) const;

    /// The answer, once there is one: also by another copy, by the clock, or as the cell has ended.
    [[nodiscard]] std::optional<decision> decided() const;

    /**
     * \brief Has a function called with the answer: also one by another copy, by the clock, or as the cell has ended.
     * \details Any number of functions may wait. It does not keep the request: when the last copy is gone without an
     * answer, it gets the rejection. One that is given to a handle that was moved from is never called.
     * \param told is called once, in the thread that answers, or at once in this thread if there is an answer already;
     * it must not throw, and must not wait for the executor
     */
    void on_decided(std::function<void(decision)> told) const;

    /// One line for people to decide on, complete: `safe_text::of(*request.subject())`, which can also be wrapped and
    /// shortened for a screen.
    friend std::ostream& operator<<(std::ostream& out, approval_request const& request);

  private:
    friend std::shared_ptr<detail::decision_state> detail::state_of(approval_request const& request);

    std::shared_ptr<approval_subject const> subject_;
    std::shared_ptr<detail::approval_handle const> handle_;
};

std::ostream& operator<<(std::ostream& out, approval_request const& request);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_request.ipp>
#endif
