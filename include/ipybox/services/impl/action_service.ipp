#pragma once

#include <ipybox/action/action_router.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/services/action_service.hpp>
#include <ipybox/services/program_actions.hpp>
#include <ipybox/services/tool_actions.hpp>
#include <ipybox/session/session_services.hpp>

#include <utility>

namespace ipybox::detail {

/// A program that the supervisor runs.
class supervised_program final : public running_program {
  public:
    explicit supervised_program(supervised_process process) : process_(std::move(process)) {}

    [[nodiscard]] asio::awaitable<exit_status> exited() override { return process_.exited(); }
    [[nodiscard]] asio::awaitable<result<void>> signal(int number) override { return process_.signal(number); }

  private:
    supervised_process process_;
};

/// The answer where there are no servers.
template <class T>
asio::awaitable<result<T>> refused(std::string server) {
    co_return failure(errc::mcp_server_unknown, "no MCP server '" + server + "' is registered");
}

inline offered_service const actions_are_offered{make_service<action_service>};

IPYBOX_DECL std::shared_ptr<action_service> action_service::make(session_services& session) {
    return std::make_shared<action_service>(session.executor(), session.get<approval_service>());
}

IPYBOX_DECL action_service::action_service(asio::any_io_executor executor, std::shared_ptr<approval_service> approvals)
    : executor_(std::move(executor)), approvals_(std::move(approvals)) {}

IPYBOX_DECL action_service::~action_service() = default;

/// Makes a channel; the kernel gets its end.
IPYBOX_DECL result<void> action_service::prepare(kernel_launch& launch) {
    auto pair = os::make_stream_pair(4 << 20);
    if (!pair) return failure(pair);
    channel_ = std::move(pair->ours);
    launch.action_socket = std::make_shared<os::unique_fd const>(std::move(pair->theirs));
    return {};
}

/// A kernel that cannot be asked to run programs is told that nothing can be done for it.
IPYBOX_DECL void action_service::serve(running_kernel const& kernel) {
    if (!kernel.process || !channel_) return channel_.reset();
    kernel_ = kernel.process;
    router_ = std::make_shared<action_router>(executor_, std::move(channel_), weak_from_this());
    router_->start();
}

IPYBOX_DECL void action_service::close() {
    if (auto const router = std::exchange(router_, nullptr)) router->close();
    channel_.reset();
    kernel_ = supervised_process();
}

IPYBOX_DECL void action_service::end_cell() {
    if (router_) router_->end_calls();
}

IPYBOX_DECL asio::awaitable<verdict> action_service::approve(approval_subject& subject, std::uint64_t after) {
    return approvals_->approve(subject, after);
}

IPYBOX_DECL void action_service::ended(approval_subject const& subject, action_outcome const& how) {
    approvals_->record(subject.id, how);
}

IPYBOX_DECL asio::awaitable<result<void>> action_service::find_server(std::string server) {
    return tools_ ? tools_->find_server(std::move(server)) : refused<void>(server);
}

IPYBOX_DECL asio::awaitable<result<mcp::call_result>>
action_service::call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) {
    if (!tools_) return refused<mcp::call_result>(subject.server);
    return tools_->call(subject, std::move(arguments), std::move(options));
}

IPYBOX_DECL asio::awaitable<result<mcp::raw_json>> action_service::ask(std::string const& server,
                                                                       mcp::server_query query) {
    return tools_ ? tools_->ask(server, std::move(query)) : refused<mcp::raw_json>(server);
}

inline asio::awaitable<package_states> no_packages() { co_return package_states(); }

IPYBOX_DECL asio::awaitable<package_states> action_service::packages(package_request wanted) {
    return tools_ ? tools_->packages(std::move(wanted)) : no_packages();
}

IPYBOX_DECL asio::awaitable<result<std::shared_ptr<running_program>>> action_service::run(program_run const& wanted,
                                                                                          program_streams streams) {
    auto const kernel = kernel_;
    if (!kernel) co_return failure(errc::not_running, "the kernel is gone");
    if (programs_ && programs_->takes(wanted)) co_return co_await programs_->run(wanted, std::move(streams));
    program_launch launch{wanted.argv, wanted.cwd, wanted.env};
    auto process = co_await kernel.run(std::move(launch), std::move(streams.standard_input),
                                       std::move(streams.standard_output), std::move(streams.standard_error));
    if (!process) co_return failure(process);
    co_return std::make_shared<supervised_program>(std::move(*process));
}

} // namespace ipybox::detail
