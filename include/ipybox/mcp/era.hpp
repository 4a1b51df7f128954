#pragma once

namespace ipybox::mcp::detail {

/// The two ways of the Model Context Protocol to agree on a version.
enum class era {
    handshake, ///< 2024-11-05 to 2025-11-25: `initialize` opens a session
    stateless  ///< from 2026-07-28 on: every request says what it speaks
};

} // namespace ipybox::mcp::detail
