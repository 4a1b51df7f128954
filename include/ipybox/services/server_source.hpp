#pragma once

#include <ipybox/approval/verdict.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <asio/awaitable.hpp>

#include <functional>
#include <string>
#include <vector>

namespace ipybox::mcp {

class server_registry;

} // namespace ipybox::mcp

namespace ipybox::detail {

/**
 * \brief MCP servers that are registered when code needs them first: the application knows them, and wants to be asked
 * before they start.
 * \details Called on the executor of the session whose code needs a server.
 */
class server_source {
  public:
    /// Has the gate decide for the code that needs the server. With `standing` what was granted before still holds.
    enum class consent { fresh, standing };
    using approval = std::function<asio::awaitable<verdict>(approval_subject subject, consent before)>;

    server_source() = default;
    server_source(server_source const&) = delete;
    server_source& operator=(server_source const&) = delete;
    virtual ~server_source() = default;

    /// Whether it knows a server of this name.
    [[nodiscard]] virtual bool has(std::string const& name) const = 0;

    [[nodiscard]] virtual std::vector<std::string> names() const = 0;

    /// Registers a server, once it is approved. \par Errors errc::mcp_server_unknown; those of the approval
    [[nodiscard]] virtual asio::awaitable<result<void>> add_to(mcp::server_registry& registry, std::string name,
                                                               approval approve) = 0;
};

} // namespace ipybox::detail
