#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/session.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief Agrees with a server on a version of the protocol.
 * \details No I/O, no clock: what the server answers goes in, what to do comes out. MCP 2026-07-28, "Versioning and
 * Compatibility"; 2025-11-25, "Lifecycle".
 */
class handshake_machine {
  public:
    struct ask { ///< send this request; its outcome is the next input
        std::string_view method;
        std::string meta;               ///< `_meta`, as JSON
        std::vector<rpc_member> params; ///< the others
        bool is_probe;                  ///< silence means no: `on_silence` after a while
    };
    struct start_over {}; ///< the server ended upon the probe: start it anew, then take `begin` again
    struct agreed {
        session with;
        bool confirm; ///< send `notifications/initialized` first
    };
    using step = std::variant<ask, start_over, agreed, error>;

    using negotiation = server_params::negotiation;

    explicit handshake_machine(negotiation how = negotiation::initialize_first) : how_(how) {}

    [[nodiscard]] step begin();
    [[nodiscard]] step on_result(std::string_view result);
    [[nodiscard]] step on_refusal(rpc_error const& why);
    [[nodiscard]] step on_silence();      ///< upon a probe
    [[nodiscard]] step on_end(error why); ///< the server ended

  private:
    enum class question { initialize, discover };

    [[nodiscard]] step ask_initialize();
    [[nodiscard]] step ask_discover();
    [[nodiscard]] step on_initialized(std::string_view result);
    [[nodiscard]] step on_discovered(std::string_view result);
    [[nodiscard]] bool may(question q) const noexcept;

    negotiation how_;
    question asked_ = question::initialize;
    bool initialize_tried_ = false;
    bool discover_tried_ = false;
    bool discover_repeated_ = false;
    std::string refusals_; ///< what was answered before
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/handshake_machine.ipp>
#endif
