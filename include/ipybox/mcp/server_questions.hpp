#pragma once

#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/server_open_request.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/// A question of a call to its client's user.
struct server_question {
    server_call_id call;
    std::string key;    ///< in `inputRequests`, or the id of a request
    std::string params; ///< JSON
    std::chrono::steady_clock::time_point deadline;
};

/**
 * \brief The questions of one client's calls that have no answer, and how those of 2026-07-28 are written and answered.
 * \details No clock: the caller says what time it is.
 */
class server_questions {
  public:
    using clock = std::chrono::steady_clock;
    using answers = std::vector<std::pair<server_question_id, server::elicitation>>;

    explicit server_questions(std::size_t most) : most_(most) {}

    [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }
    [[nodiscard]] bool has_room() const noexcept { return open_.size() < most_; }

    /// The number of the next question, whether it is asked or not.
    [[nodiscard]] server_question_id next_id() noexcept { return ++last_; }

    /// A question is asked. \return its key
    std::string const& add(server_question_id id, server_call_id call, std::string params, clock::time_point deadline);

    /// Takes one out; none where it has an answer, or never was asked.
    [[nodiscard]] std::optional<server_question> take(server_question_id id);

    /// \return null where there is no such question
    [[nodiscard]] server_question const* find(server_question_id id) const noexcept;

    /// The question with this key as the id of a request, which is JSON.
    [[nodiscard]] std::optional<server_question_id> asked_as(std::string_view request_key) const;

    [[nodiscard]] bool has_of(server_call_id call) const noexcept;
    [[nodiscard]] std::vector<server_question_id> of(server_call_id call) const;

    /// Those whose time is over.
    [[nodiscard]] std::vector<server_question_id> late(clock::time_point now) const;

    /// When the next one's time is over.
    [[nodiscard]] clock::time_point deadline() const noexcept;

    /// `inputRequests` with the questions of a call.
    [[nodiscard]] std::string input_requests(server_call_id call) const;

    /// The answers to questions of a call in `inputResponses`. Those to others, or to none, are not looked at.
    [[nodiscard]] answer_to<answers> read_responses(server_call_id call, std::string_view responses) const;

  private:
    std::size_t most_;
    std::map<server_question_id, server_question> open_;
    server_question_id last_ = 0;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_questions.ipp>
#endif
