#pragma once

#include <ipybox/core/config.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ipybox::mcp::detail {

/**
 * \brief Those who are told what becomes of the servers of a registry, as long as their functions live.
 * \par Thread safety Safe: functions are called in the thread that tells.
 */
class server_listeners {
  public:
    /// Gets the name of a server.
    using function = std::function<void(std::string const&)>;

    /// Is told of each server that is forgotten, or gives way to another one.
    void on_gone(std::weak_ptr<function const> told);

    /// Is told of each server whose list of tools has changed.
    void on_changed(std::weak_ptr<function const> told);

    void tell_gone(std::string const& server) const { tell(gone_, server); }
    void tell_changed(std::string const& server) const { tell(changed_, server); }

  private:
    using functions = std::vector<std::weak_ptr<function const>>;

    void add(functions& to, std::weak_ptr<function const> told);
    void tell(functions const& all, std::string const& server) const;

    mutable std::mutex mutex_;
    functions gone_;
    functions changed_;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_listeners.ipp>
#endif
