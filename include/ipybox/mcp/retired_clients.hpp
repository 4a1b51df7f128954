#pragma once

#include <ipybox/core/config.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace ipybox::mcp::detail {

class client;

/**
 * \brief The clients that a registry has forgotten: their servers may take their time to end.
 * \par Thread safety Safe.
 */
class retired_clients {
  public:
    /// Has a client end its server.
    void add(std::shared_ptr<client> const& one);

    /// Ends the servers of all at once.
    void kill();

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<client>> clients_;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/retired_clients.ipp>
#endif
