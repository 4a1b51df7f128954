#pragma once

namespace ipybox::mcp {

/// How the era of a server is found out.
enum class negotiation {
    initialize_first, ///< what every server of the handshake era, and every one of both, understands; others refuse it
                      ///< and are asked anew
    discover_first,   ///< what the protocol recommends since 2026-07-28; servers of before may stay silent, or end
    handshake_only,   ///< `initialize`, and nothing else
    stateless_only    ///< `server/discover`, and nothing else
};

} // namespace ipybox::mcp
