#pragma once

#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief The book of requests on one connection: which are open, until when, and what a message of the server means for
 * them.
 * \details No I/O, no clock: texts go in and come out, the caller says what time it is. Whatever a server sends, the
 * worst that happens is that it is ignored.
 */
class rpc_machine {
  public:
    using clock = std::chrono::steady_clock;
    using request_id = std::int64_t;

    struct nothing {};
    struct answered {
        request_id request;
        std::string_view result; ///< JSON, into the message
    };
    struct refused {
        request_id request;
        rpc_error why;
    };
    struct garbled {
        request_id request; ///< whose answer is not JSON: it is closed
    };
    struct progressed {
        request_id request;
        call_options::progress made;
    };
    struct reply {
        std::string message; ///< to be sent. A request whose id is longer than 1 KiB has none
    };
    struct tools_changed {};
    using step = std::variant<nothing, answered, refused, garbled, progressed, reply, tools_changed>;

    /// Whether a request asks to hear of its progress.
    enum class progress_reports { unwanted, wanted };

    /// Opens a request; ids are never used twice. Its progress token is its id.
    [[nodiscard]] request_id open(clock::time_point deadline = clock::time_point::max(),
                                  progress_reports reports = progress_reports::unwanted);

    /// The meaning of a message of the server. A refusal or an answer closes its request.
    [[nodiscard]] step take(rpc_message const& message);
    [[nodiscard]] step read(std::string_view message);

    /// Closes a request whose answer is not wanted any more. The message for the server; none if the request is not
    /// open.
    [[nodiscard]] std::optional<std::string> abandon(request_id request, std::string_view reason);

    /// Closes a request that was never sent.
    void forget(request_id request);

    /// When the next open request is overdue.
    [[nodiscard]] clock::time_point deadline() const noexcept;

    /// Requests that are overdue. They stay open until they are abandoned.
    [[nodiscard]] std::vector<request_id> overdue(clock::time_point now) const;

    [[nodiscard]] std::size_t open_requests() const noexcept { return open_.size(); }

  private:
    struct entry {
        clock::time_point deadline;
        progress_reports reports;
    };

    [[nodiscard]] step on_notification(rpc_message const& m) const;
    [[nodiscard]] std::optional<request_id> close(std::string_view id);
    [[nodiscard]] std::optional<request_id> close_only_one();

    request_id last_ = 0;
    std::map<request_id, entry> open_;
    std::set<std::pair<clock::time_point, request_id>> deadlines_;
};

/// How many messages a batch has at most: what is known of each takes more than its text.
inline constexpr std::size_t most_messages = 10'000;

/// The messages of a line: one, or those of a batch (2025-03-26 alone had them), none of one that has too many. Values
/// that are not JSON objects are left out.
[[nodiscard]] std::vector<std::string_view> messages_of(std::string_view line);

/// The same with their envelopes read. Other values are left out.
[[nodiscard]] std::vector<rpc_message> rpc_messages_of(std::string_view line);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/rpc_machine.ipp>
#endif
