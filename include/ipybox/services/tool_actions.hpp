#pragma once

#include <ipybox/action/package_request.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_options.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_query.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <asio/awaitable.hpp>

#include <string>

namespace ipybox::detail {

/// Does what code asks of tools; the functions are those of `action_host`.
class tool_actions {
  public:
    tool_actions() = default;
    tool_actions(tool_actions const&) = delete;
    tool_actions& operator=(tool_actions const&) = delete;
    virtual ~tool_actions() = default;

    [[nodiscard]] virtual asio::awaitable<result<void>> find_server(std::string server) = 0;
    [[nodiscard]] virtual asio::awaitable<result<mcp::call_result>>
    call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) = 0;
    [[nodiscard]] virtual asio::awaitable<result<mcp::raw_json>> ask(std::string const& server,
                                                                     mcp::server_query query) = 0;
    [[nodiscard]] virtual asio::awaitable<package_states> packages(package_request wanted) = 0;
};

} // namespace ipybox::detail
