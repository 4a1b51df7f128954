#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/tools/tool_places.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

class host_tool;

namespace mcp {

class server_registry;
struct tool;

} // namespace mcp
} // namespace ipybox

namespace ipybox::detail {

class tool_package;

/**
 * \brief The host tools of one session, by their packages, which stand in a registry beside the MCP servers. They go
 * with the session.
 * \par Thread safety Safe.
 */
class tool_packages {
  public:
    tool_packages(asio::any_io_executor const& executor, std::shared_ptr<mcp::server_registry> registry);
    tool_packages(tool_packages const&) = delete;
    tool_packages& operator=(tool_packages const&) = delete;
    ~tool_packages();

    /// Adds tools, all or none. \par Errors those of `tool_package::add`; errc::invalid_argument — no name for a Python
    /// package; errc::mcp_server_exists
    [[nodiscard]] result<void> add(std::string const& package, std::vector<host_tool> tools);

    /// Forgets a tool, and ends its calls. \return whether there was one
    bool remove(std::string const& package, std::string const& tool);

    /// Forgets a package. \return whether there was one
    bool remove(std::string const& package);

    /// All tools, as "package.tool".
    [[nodiscard]] std::vector<std::string> names() const;

    /// The tools of a package as they are listed; none where there is no such package.
    [[nodiscard]] std::optional<std::vector<mcp::tool>> list(std::string const& package) const;

    /// Whether the calling thread is in a function of one of these tools.
    [[nodiscard]] bool runs_here() const;

    /// Ends everything, for ever; waits for functions that run no longer than that.
    void end(std::chrono::milliseconds bound);

  private:
    [[nodiscard]] std::shared_ptr<tool_package> find(std::string const& package) const;

    tool_places const places_;
    std::shared_ptr<mcp::server_registry> const registry_;
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<tool_package>> packages_;
    bool ended_ = false;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/tools/impl/tool_packages.ipp>
#endif
