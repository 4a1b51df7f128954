#pragma once

#include <ipybox/codegen/generate.hpp>
#include <ipybox/executor_base.hpp>
#include <ipybox/services/generated_places.hpp>
#include <ipybox/services/tool_service.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/tools.hpp>
#include <ipybox/tools/tool_packages.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

IPYBOX_DECL result<void> executor_base::add_tool(host_tool tool, std::string const& package) {
    auto const tools = detail::tool_service::of(*session_).functions;
    if (!tools) return failure(errc::not_running);
    std::vector<host_tool> list;
    list.push_back(std::move(tool));
    if (auto added = tools->add(package, std::move(list)); !added) return added;
    return write_again(package);
}

IPYBOX_DECL result<void> executor_base::add_tools(host_tools const& list) {
    auto const tools = detail::tool_service::of(*session_).functions;
    if (!tools) return failure(errc::not_running);
    if (auto added = tools->add(list.package(), list.list()); !added) return added;
    return write_again(list.package());
}

IPYBOX_DECL result<bool> executor_base::remove_tool(std::string const& name, std::string const& package) {
    auto const tools = detail::tool_service::of(*session_).functions;
    if (!tools || !tools->remove(package, name)) return false;
    if (auto written = write_again(package); !written) return failure(written);
    return true;
}

IPYBOX_DECL bool executor_base::remove_tools(std::string const& package) {
    auto const tools = detail::tool_service::of(*session_).functions;
    return tools && tools->remove(package);
}

IPYBOX_DECL std::vector<std::string> executor_base::tools() const {
    auto const tools = detail::tool_service::of(*session_).functions;
    return tools ? tools->names() : std::vector<std::string>();
}

/// Writes a package of host tools wherever it was generated before.
IPYBOX_DECL result<void> executor_base::write_again(std::string const& package) {
    auto const parts = detail::tool_service::of(*session_);
    if (!parts.places) return {};
    for (auto const& place : parts.places->of(package)) {
        auto const list = parts.functions->list(package);
        if (!list) break;
        auto const written = codegen::generate(package, *list, place.root_dir, *place.options);
        if (!written) return failure(written.error());
    }
    return {};
}

} // namespace ipybox
