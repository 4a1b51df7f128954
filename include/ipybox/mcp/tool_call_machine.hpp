#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/era.hpp>
#include <ipybox/mcp/input_rounds.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/session.hpp>
#include <ipybox/mcp/task_state.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief One call of a tool: a request, and perhaps some more, until the server has all it needs (`input_rounds`), and
 * until a task has ended, as which it runs the call (`task_state`).
 * \details No I/O, no clock.
 */
class tool_call_machine {
  public:
    using value_type = call_result;
    static constexpr std::string_view method = "tools/call";

    static constexpr int most_rounds = input_rounds::most;

    /// \par Errors errc::invalid_argument — the arguments are not an object, hold text that is not UTF-8, or are nested
    /// too deeply
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, nlohmann::ordered_json const& arguments);
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, raw_json arguments);
    template <std::same_as<nlohmann::json> Json>
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, Json const& arguments) {
        return make_of(tool, raw_json::of(arguments));
    }

    /// The tool's server runs it as a task only.
    void need_task() noexcept { needs_task_ = true; }

    /// The requests are for a server with which this was agreed. MCP 2025-11-25: it is asked for a task where it says
    /// that it has them.
    void speak(session const& with) noexcept { asks_for_task_ = needs_task_ && with.runs_tasks; }

    /// What a request asks for.
    enum class question {
        call,  ///< `tools/call`
        state, ///< `tasks/get`
        result ///< `tasks/result`
    };

    /// The next request.
    [[nodiscard]] question next() const noexcept { return next_; }
    [[nodiscard]] std::string_view next_method() const noexcept;

    /// Its `params`, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const;

    /// The time to wait before it is sent.
    [[nodiscard]] std::chrono::milliseconds pause() const noexcept { return pause_; }

    /// JSON of the id of the task at the server, while it has not ended; empty: there is none.
    [[nodiscard]] std::string const& task() const noexcept { return task_; }

    /// The meaning of an answer: the outcome, or that there has to be another request.
    struct reading {
        std::optional<result<call_result>> outcome;
        std::string state = {};              ///< for another request: JSON of the server
        std::optional<task_state> task = {}; ///< that was asked for, or begun
    };

    /// Reads an answer, on any thread. The meaning of a null in it depends on the era.
    [[nodiscard]] static reading read(std::string_view json, detail::era spoken = detail::era::handshake,
                                      question asked = question::call);

    /// Takes what was read: the outcome, or none when there has to be another request.
    [[nodiscard]] std::optional<result<call_result>> on_reading(reading read);

    [[nodiscard]] std::optional<result<call_result>> on_result(std::string_view json,
                                                               detail::era spoken = detail::era::handshake) {
        return on_reading(read(json, spoken, next_));
    }

  private:
    tool_call_machine(std::string tool, raw_json arguments)
        : tool_(std::move(tool)), arguments_(std::move(arguments)) {}

    [[nodiscard]] static result<tool_call_machine> make_of(std::string_view tool, result<raw_json> arguments);

    std::string tool_; ///< JSON
    raw_json arguments_;
    input_rounds rounds_;
    bool needs_task_ = false;
    bool asks_for_task_ = false;
    question next_ = question::call;
    std::string task_;
    std::chrono::milliseconds pause_{0};
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/tool_call_machine.ipp>
#endif
