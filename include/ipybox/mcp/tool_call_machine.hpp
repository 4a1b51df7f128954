#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/era.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief One call of a tool: a request, and perhaps some more until the server has all it needs.
 * \details No I/O. MCP 2026-07-28, "Multi Round-Trip Requests": a server may hand its state over and ask to be called
 * again with it. It may not get input: the client offers none.
 */
class tool_call_machine {
  public:
    using value_type = call_result;
    static constexpr std::string_view method = "tools/call";

    /// A server that wants to be called more often than this is taken to be going in circles.
    static constexpr int most_rounds = 10;

    /// \par Errors errc::invalid_argument — the arguments are not an object, hold text that is not UTF-8, or are nested
    /// too deeply
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, nlohmann::ordered_json const& arguments);
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, raw_json arguments);
    template <std::same_as<nlohmann::json> Json>
    [[nodiscard]] static result<tool_call_machine> make(std::string_view tool, Json const& arguments) {
        return make_of(tool, raw_json::of(arguments));
    }

    /// `params` of the next request, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const {
        return {{"name", tool_}, {"arguments", arguments_.text()}, {"requestState", state_}};
    }

    /// The meaning of an answer: the outcome, or that there has to be another request.
    struct reading {
        std::optional<result<call_result>> outcome;
        std::string state; ///< for another request: JSON of the server
    };

    /// Reads an answer, on any thread. The meaning of a null in it depends on the era.
    [[nodiscard]] static reading read(std::string_view json, detail::era spoken = detail::era::handshake);

    /// Takes what was read: the outcome, or none when there has to be another request.
    [[nodiscard]] std::optional<result<call_result>> on_reading(reading read);

    [[nodiscard]] std::optional<result<call_result>> on_result(std::string_view json) { return on_reading(read(json)); }

  private:
    tool_call_machine(std::string tool, raw_json arguments)
        : tool_(std::move(tool)), arguments_(std::move(arguments)) {}

    [[nodiscard]] static result<tool_call_machine> make_of(std::string_view tool, result<raw_json> arguments);

    std::string tool_; ///< JSON
    raw_json arguments_;
    std::string state_; ///< of the server: goes back as it came, byte for byte
    int rounds_ = 1;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/tool_call_machine.ipp>
#endif
