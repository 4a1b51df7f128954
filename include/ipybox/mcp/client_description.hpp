#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/era.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace ipybox::mcp {

/**
 * \brief The description that a client gives of itself: in `initialize`, or since 2026-07-28 in each request.
 * \details Text of the client: carried, never interpreted, and no proof of anything.
 */
struct client_description {
    mcp::era era = mcp::era::handshake;
    std::string version;                                    ///< of the protocol, as agreed on
    std::string name = {};                                  ///< of the client; empty where it has none
    std::string client_version = {};                        ///< its own
    nlohmann::json capabilities = nlohmann::json::object(); ///< as declared

    /// Whether it shows forms to its user. Versions before 2025-06-18 have none, whatever is declared.
    [[nodiscard]] bool answers_forms() const;

    /// Whether a call may become a task for it: the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
    [[nodiscard]] bool takes_tasks() const;
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/client_description.ipp>
#endif
