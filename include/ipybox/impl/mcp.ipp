#pragma once

#include <ipybox/executor_base.hpp>
#include <ipybox/mcp.hpp>
#include <ipybox/mcp/server_file.hpp>
#include <ipybox/services/tool_service.hpp>
#include <ipybox/session/session_handle.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

IPYBOX_DECL std::shared_ptr<mcp::server_registry> executor_base::mcp_registry() const {
    return detail::tool_service::of(*session_).servers;
}

IPYBOX_DECL result<void> executor_base::register_mcp_server(std::string name, mcp::server_params params) {
    auto const servers = mcp_registry();
    return servers ? servers->add(std::move(name), std::move(params)) : failure(errc::not_running);
}

IPYBOX_DECL result<mcp::registered_servers> executor_base::register_mcp_servers(std::filesystem::path const& file,
                                                                                mcp::server_timeouts const& timeouts) {
    // Read before the session is asked: a file may be a pipe, or far away, and other calls go on meanwhile.
    auto read = mcp::detail::read_server_file(file);
    if (!read) return failure(read);
    auto const servers = mcp_registry();
    if (!servers) return failure(errc::not_running);
    return servers->add_from(file, std::move(*read), timeouts);
}

IPYBOX_DECL result<void> executor_base::replace_mcp_server(std::string name, mcp::server_params params) {
    auto const servers = mcp_registry();
    return servers ? servers->replace(std::move(name), std::move(params)) : failure(errc::not_running);
}

IPYBOX_DECL bool executor_base::remove_mcp_server(std::string const& name) {
    auto const servers = mcp_registry();
    return servers && servers->remove(name);
}

IPYBOX_DECL std::vector<std::string> executor_base::mcp_servers() const {
    auto const servers = mcp_registry();
    return servers ? servers->names() : std::vector<std::string>();
}

} // namespace ipybox
