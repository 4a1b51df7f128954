#pragma once

#include <ipybox/app/code_session_options.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace ipybox {

/**
 * \brief The MCP server `ipybox mcp`: the tools of `code_tools` for one client.
 * \details It has one kernel, or `code_session_options::sessions` that the client names. Nothing is started before the
 * first call of a tool, so a client that only lists the tools has its answer at once.
 * \par Thread safety Unsafe: used on its executor, which must not run two handlers at once.
 */
class code_server {
  public:
    /// \par Errors those of reading `code_session_options::mcp_config`
    [[nodiscard]] static result<code_server> make(asio::any_io_executor const& executor, code_session_options options);

    /**
     * \brief Serves the client until it ends its output, and ends the kernel and the servers then.
     * \par Errors as `mcp::server::serve`
     * \par Cancellation terminal, partial, total: as if the client had ended
     */
    [[nodiscard]] asio::awaitable<result<void>> serve(std::shared_ptr<mcp::server::channel> channel) const;

  private:
    using handler = std::function<asio::awaitable<mcp::call_result>(std::shared_ptr<mcp::server::call>)>;
    using end_function = std::function<asio::awaitable<void>()>;

    code_server(mcp::server server, end_function end) : server_(std::move(server)), end_(std::move(end)) {}

    [[nodiscard]] static result<code_server> make(mcp::server::options offered, handler const& serve, end_function end);

    mcp::server server_;
    end_function end_; ///< of kernels and servers
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/code_server.ipp>
#endif
