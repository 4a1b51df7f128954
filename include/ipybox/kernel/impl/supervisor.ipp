#pragma once

#include <ipybox/async/completion.hpp>
#include <ipybox/async/suspend.hpp>
#include <ipybox/kernel/impl/supervisor_core.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <fcntl.h>

#include <utility>

namespace ipybox {

IPYBOX_DECL int supervised_process::pid() const noexcept { return state_->pid; }

IPYBOX_DECL asio::awaitable<exit_status> supervised_process::exited() const {
    // Who waits for the end holds no handle: a process that only watchers are left of is killed.
    auto const wait = [core = state_->core, ending = state_->ending](detail::completion<exit_status> done) {
        core->wait_for(ending, std::move(done));
    };
    return detail::suspend<exit_status>(wait);
}

IPYBOX_DECL asio::awaitable<result<void>> supervised_process::signal(int number) const {
    auto const state = state_;
    auto const send = [state, number](detail::completion<result<void>> done) {
        state->core->signal(state->pid, number, std::move(done));
    };
    co_return co_await detail::suspend<result<void>>(send);
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervised_process::run(program_launch program,
                                                                                os::unique_fd standard_input,
                                                                                os::unique_fd standard_output,
                                                                                os::unique_fd standard_error) const {
    auto const state = state_;
    detail::json difference = detail::json::object();
    for (auto const& [name, value] : program.env) difference[name] = value ? detail::json(*value) : detail::json();
    detail::json request = {{"op", "run"},
                            {"kernel", state->pid},
                            {"argv", std::move(program.argv)},
                            {"env", std::move(difference)},
                            {"cwd", program.working_dir.string()}};
    std::vector<os::unique_fd> descriptors;
    descriptors.push_back(std::move(standard_input));
    descriptors.push_back(std::move(standard_output));
    descriptors.push_back(std::move(standard_error));
    auto const start = [&](detail::completion<result<supervised_process>> done) {
        state->core->start_process(std::move(request), std::move(descriptors), std::chrono::seconds(10), {},
                                   std::move(done));
    };
    auto started = co_await detail::suspend<result<supervised_process>>(start);
    if (started || started.error() == errc::supervisor_died || started.error() == errc::not_running) co_return started;
    co_return failure(error(errc::program_not_started, started.error().text()).with_cause(started.error().cause()));
}

IPYBOX_DECL supervisor::supervisor(asio::any_io_executor executor, supervisor_options options)
    : core_(std::make_shared<detail::supervisor_core>(std::move(executor), std::move(options))) {}

IPYBOX_DECL supervisor::~supervisor() { core_->end(); }

IPYBOX_DECL void supervisor::end() { core_->end(); }

IPYBOX_DECL asio::awaitable<result<supervisor_info>> supervisor::ready(std::chrono::milliseconds bound,
                                                                       std::stop_token stop) {
    auto const core = core_;
    auto const wait = [&](detail::completion<result<supervisor_info>> done) {
        core->when_ready(bound, std::move(stop), std::move(done));
    };
    co_return co_await detail::suspend<result<supervisor_info>>(wait);
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervisor::fork(kernel_launch launch, os::unique_fd stream) {
    auto const core = core_;
    detail::json request = {{"op", "fork"},
                            {"env", launch.env},
                            {"cwd", launch.working_dir.string()},
                            {"restore_cwd", launch.after_cell == cwd_policy::restore}};
    if (launch.guard == kernel_guard::no_exec) request["guard"] = "no_exec";
    std::vector<os::unique_fd> descriptors;
    descriptors.push_back(std::move(stream));
    if (launch.action_socket) descriptors.emplace_back(::fcntl(launch.action_socket->get(), F_DUPFD_CLOEXEC, 0));
    auto const start = [&](detail::completion<result<supervised_process>> done) {
        core->start_process(std::move(request), std::move(descriptors), launch.start_bound, launch.stop,
                            std::move(done));
    };
    co_return co_await detail::suspend<result<supervised_process>>(start);
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervisor::spawn(std::vector<std::string> argv,
                                                                          kernel_launch launch) {
    auto const core = core_;
    detail::json request = {{"op", "spawn"}, {"argv", argv}, {"env", launch.env}, {"cwd", launch.working_dir.string()}};
    auto const start = [&](detail::completion<result<supervised_process>> done) {
        core->start_process(std::move(request), {}, launch.start_bound, launch.stop, std::move(done));
    };
    co_return co_await detail::suspend<result<supervised_process>>(start);
}

IPYBOX_DECL std::filesystem::path const& supervisor::private_dir() const noexcept { return core_->private_dir(); }
IPYBOX_DECL supervisor_options const& supervisor::options() const noexcept { return core_->options(); }
IPYBOX_DECL std::string supervisor::diagnostics() const { return core_->diagnostics(); }

} // namespace ipybox
