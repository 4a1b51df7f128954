#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/era.hpp>
#include <ipybox/version.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/// The versions that are known, newest first.
inline constexpr std::array<std::string_view, 4> handshake_versions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                    "2024-11-05"};
inline constexpr std::array<std::string_view, 1> stateless_versions{"2026-07-28"};

/// The client's information about itself, as JSON.
inline constexpr std::string_view client_info = R"({"name":"ipybox","version":")" IPYBOX_VERSION_STRING R"("})";

/// The agreement with a server, and its information about itself: text of the server, carried, never interpreted.
struct session {
    detail::era era = detail::era::handshake;
    std::string version;                          ///< of the protocol
    std::string server_name = {};                 ///< what it calls itself
    std::string server_version = {};              ///< its own
    std::optional<std::string> instructions = {}; ///< how to use its tools, for a model
    bool announces_tool_changes = false;          ///< it tells when its list of tools changes
    bool runs_tasks = false;                      ///< it runs calls as tasks when it is asked to (MCP 2025-11-25)
};

/**
 * \brief The `_meta` of a request in this session, as JSON; empty where there is nothing to say.
 * \param progress_token asks for progress under this number
 */
[[nodiscard]] std::string request_meta(session const& s, std::optional<std::int64_t> progress_token = {});

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/session.ipp>
#endif
