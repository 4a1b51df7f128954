#pragma once

#include <ipybox/app/code_server.hpp>
#include <ipybox/app/code_session.hpp>
#include <ipybox/app/code_sessions.hpp>
#include <ipybox/app/code_tools.hpp>
#include <ipybox/version.hpp>

#include <asio/this_coro.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL result<code_server> code_server::make(asio::any_io_executor const& executor, code_session_options options) {
    auto const sessions = options.sessions ? offered_sessions::named : offered_sessions::one;
    mcp::server::options offered;
    offered.name = "ipybox";
    offered.version = version::text;
    offered.title = "Python in a sandbox";
    // Claude Code shows its model nothing else where there is structured content: it would never see a plot.
    offered.content_alone = {"claude-code"};
    offered.instructions = code_instructions(options.executor.working_dir, sessions);
    for (auto& definition : code_tools(sessions)) offered.tools.emplace_back().definition = std::move(definition);

    using call_ptr = std::shared_ptr<mcp::server::call>;
    if (sessions == offered_sessions::named) {
        auto const named = code_sessions::make(executor, std::move(options));
        if (!named) return failure(named.error());
        auto const serve = [all = *named](call_ptr call) { return code_sessions::serve(all, std::move(call)); };
        return make(std::move(offered), serve, [all = *named] { return code_sessions::stop(all); });
    }
    auto const only = code_session::make(executor, std::move(options));
    if (!only) return failure(only.error());
    auto const serve = [session = *only](call_ptr call) { return code_session::serve(session, std::move(call)); };
    return make(std::move(offered), serve, [session = *only] { return code_session::stop(session); });
}

IPYBOX_DECL result<code_server> code_server::make(mcp::server::options offered, handler const& serve,
                                                  end_function end) {
    for (auto& tool : offered.tools) {
        auto const& name = tool.definition.name;
        bool const may_take_long =
            name == code_tool_name::execute_ipython_cell || name == code_tool_name::wait_for_cell;
        if (may_take_long) tool.tasks = mcp::server::tool::task_support::optional;
        tool.reading = mcp::server::tool::argument_reading::lenient;
        tool.handler = serve;
    }
    auto server = mcp::server::make(std::move(offered));
    if (!server) return failure(server);
    return code_server(*std::move(server), std::move(end));
}

IPYBOX_DECL asio::awaitable<result<void>> code_server::serve(std::shared_ptr<mcp::server::channel> channel) const {
    // The end comes after a cancellation too.
    co_await asio::this_coro::throw_if_cancelled(false);
    auto served = co_await server_.serve(std::move(channel));
    co_await asio::this_coro::reset_cancellation_state();
    co_await end_();
    co_return served;
}

} // namespace ipybox
