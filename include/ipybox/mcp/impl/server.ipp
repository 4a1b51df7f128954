#pragma once

#include <ipybox/async/suspend.hpp>
#include <ipybox/mcp/argument_check.hpp>
#include <ipybox/mcp/impl/server_core.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/mcp/server_call.hpp>

#include <asio/this_coro.hpp>

#include <optional>
#include <set>
#include <string>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// 2025-11-25, "Tools", section "Tool Names".
inline bool is_tool_name(std::string_view name) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return !name.empty() && name.size() <= 128 && name.find_first_not_of(allowed) == std::string_view::npos;
}

/// Why a tool cannot be served; nothing where it can.
inline std::optional<std::string> fault_of(server_tool const& tool) {
    auto const& definition = tool.definition;
    if (!is_tool_name(definition.name))
        return "the name of a tool has 1 to 128 letters, digits and '_', '-', '.': not \"" + definition.name + "\"";
    auto const where = "the tool " + definition.name;
    if (!tool.handler) return where + " has no handler";
    auto const type =
        definition.input_schema.is_object() ? definition.input_schema.find("type") : definition.input_schema.end();
    if (type == definition.input_schema.end() || *type != "object")
        return where + ": the input schema has to have the type \"object\"";
    if (!tool.check)
        if (auto const unchecked = ipybox::detail::find_unchecked(definition.input_schema))
            return where + ": " + *unchecked + ". Leave it out, or set `check`.";
    return std::nullopt;
}

/// Owns what it uses: the server may be gone when this begins.
inline asio::awaitable<result<void>> serve_client(std::shared_ptr<server_options const> options,
                                                  std::shared_ptr<server_channel> channel) {
    auto const executor = co_await asio::this_coro::executor;
    auto const core = std::make_shared<server_core>(executor, std::move(options), std::move(channel));
    auto const begin = [&core](ipybox::detail::completion<result<void>> done) { core->begin(std::move(done)); };
    co_return co_await ipybox::detail::suspend<result<void>>(begin);
}

} // namespace detail

IPYBOX_DECL result<server> server::make(server_options options) {
    std::set<std::string_view> names;
    for (auto const& tool : options.tools) {
        if (auto fault = detail::fault_of(tool)) return failure(errc::invalid_argument, std::move(*fault));
        if (!names.insert(tool.definition.name).second)
            return failure(errc::invalid_argument, "there are two tools of the name " + tool.definition.name);
    }
    return server(std::make_shared<server_options const>(std::move(options)));
}

IPYBOX_DECL asio::awaitable<result<void>> server::serve(std::shared_ptr<server_channel> channel) const {
    return detail::serve_client(options_, std::move(channel));
}

} // namespace ipybox::mcp
