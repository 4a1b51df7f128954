#pragma once

#include <ipybox/approval/approval_answer.hpp>
#include <ipybox/approval/approval_subject.hpp>
#include <ipybox/approval/decision.hpp>
#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

namespace detail {

class approval_handle;

} // namespace detail

/**
 * \brief An action that waits for approval, and the means to answer.
 * \details Copies are handles of the same request: keep one to answer later. The first answer counts, whichever copy or
 * thread it comes from. When the last copy is gone and nobody has answered, the request is rejected. All text in it comes
 * from the code in the kernel and is not to be trusted.
 * \par Thread safety Safe: distinct copies in distinct threads.
 */
class approval_request {
  public:
    explicit approval_request(approval_subject subject);

    /// A request about the same, with an answer of its own.
    explicit approval_request(std::shared_ptr<approval_subject const> subject);

    [[nodiscard]] std::uint64_t id() const noexcept { return subject_->id; }
    [[nodiscard]] approval_kind kind() const noexcept { return subject_->kind; }
    [[nodiscard]] std::string const& server() const noexcept { return subject_->server; }
    [[nodiscard]] std::string const& tool() const noexcept { return subject_->tool; }

    /// Arguments of the tool, in the order they were given; null for the kinds that have none.
    [[nodiscard]] nlohmann::ordered_json const& arguments() const;

    [[nodiscard]] std::vector<std::string> const& argv() const noexcept { return subject_->argv; }
    [[nodiscard]] std::filesystem::path const& cwd() const noexcept { return subject_->cwd; }
    [[nodiscard]] environment_difference const& env() const noexcept { return subject_->env; }
    [[nodiscard]] std::string const& input() const noexcept { return subject_->input; }
    [[nodiscard]] std::string const& code() const noexcept { return subject_->code; }
    [[nodiscard]] std::string const& cell_id() const noexcept { return subject_->cell_id; }
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> const& deadline() const noexcept {
        return subject_->deadline;
    }

    /// All of it; may outlive the request, keeps nobody waiting.
    [[nodiscard]] std::shared_ptr<approval_subject const> const& subject() const noexcept { return subject_; }

    /// The action may be done. Returns whether this was the first answer, as do the others.
    bool accept() const;

    /// The tool may be called with these arguments. Rejects a request that has no arguments.
    bool accept(nlohmann::ordered_json edited_arguments) const;

    /// The action may be done, and what the grant covers from now on without asking. This is the grant's first use, where it covers this action.
    bool accept_and_grant(grant const& given) const;

    /// The action must not be done; the code that wanted it gets the reason.
    bool reject(std::string reason = {}, when_repeated again = when_repeated::reject) const;

    /// Answers with a decision that was made elsewhere.
    bool answer(decision decision) const;

    /// The answer, once there is one: also by another copy, by the clock, or as the cell has ended.
    [[nodiscard]] std::optional<decision> decided() const;

    /// Where the answer arrives. Who waits there keeps this and not the request, or would never learn that all copies were
    /// dropped.
    [[nodiscard]] std::shared_ptr<detail::approval_answer> pending_answer() const;

    /// One line for people to decide on, complete: `to_safe_text(*request.subject())`, which can also be wrapped and shortened for a screen.
    friend std::ostream& operator<<(std::ostream& out, approval_request const& request);

  private:
    std::shared_ptr<approval_subject const> subject_;
    std::shared_ptr<detail::approval_handle const> handle_;
};

std::ostream& operator<<(std::ostream& out, approval_request const& request);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_request.ipp>
#endif
