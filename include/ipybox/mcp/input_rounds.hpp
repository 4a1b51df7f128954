#pragma once

#include <ipybox/core/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief The rounds of a request whose server hands its state over and asks to be asked again with it.
 * \details No I/O. MCP 2026-07-28, "Multi Round-Trip Requests". A server does not get input: the client offers none.
 */
class input_rounds {
  public:
    /// A server that wants to be asked more often than this is taken to be going in circles.
    static constexpr int most = 10;

    /// The type of a result, if it says so (since 2026-07-28), else "complete".
    [[nodiscard]] static std::string type_of(std::string_view json);

    /**
     * \brief Reads the wish of a result for another round, on any thread.
     * \return JSON of the state that the next request has; none if the result is complete
     * \par Errors errc::mcp_input_required — it asks for input; errc::protocol_error — a type of results that is not
     * known, or a wish for nothing
     */
    [[nodiscard]] static result<std::optional<std::string>> wish_in(std::string_view json, std::string_view method);

    /// Begins another round, with the state of the server.
    /// \par Errors errc::mcp_input_required — it was not the first wish, by far
    [[nodiscard]] result<void> begin_another(std::string state);

    /// JSON of the state that the next request has: goes back as it came, byte for byte. Empty in the first round.
    [[nodiscard]] std::string const& state() const noexcept { return state_; }

  private:
    std::string state_;
    int begun_ = 1;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/input_rounds.ipp>
#endif
