#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/async/completion.hpp>
#include <ipybox/kernel/impl/supervisor_core.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL int supervised_process::pid() const noexcept { return state_->pid; }

IPYBOX_DECL std::filesystem::path supervised_process::interpreter() const {
    return state_ ? state_->core->options().python : std::filesystem::path();
}

IPYBOX_DECL std::shared_ptr<package_layer const> supervised_process::packages() const {
    return state_ ? state_->core->options().packages : nullptr;
}

IPYBOX_DECL os::unique_fd supervised_process::take_listener() const {
    return state_ ? std::move(state_->listener) : os::unique_fd();
}

IPYBOX_DECL std::shared_ptr<sandbox_config const> supervised_process::network() const {
    return state_ ? state_->network : nullptr;
}

/// All that could write there has ended with the kernel. The pipe is still looked at first: nothing here may wait for
/// what is untrusted.
IPYBOX_DECL std::string supervised_process::take_unforwarded(int descriptor) const {
    static constexpr std::size_t most = std::size_t(1) << 20;
    auto const pipe = state_ ? std::exchange(state_->outputs.at(descriptor == 1 ? 0 : 1), {}) : os::unique_fd();
    int available = 0;
    std::string text;
    if (!pipe || ::ioctl(pipe.get(), FIONREAD, &available) != 0 || available <= 0) return text;
    (void)::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
    text.resize(std::min(static_cast<std::size_t>(available), most));
    auto const count = ::read(pipe.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

IPYBOX_DECL asio::awaitable<exit_status> supervised_process::exited() const {
    // An operation that waits for the end holds no handle: a process that only watchers are left of is killed.
    auto const wait = [core = state_->core, ending = state_->ending](completion<exit_status> done) {
        core->wait_for(ending, std::move(done));
    };
    return await_completion<exit_status>(wait);
}

IPYBOX_DECL void supervised_process::on_exit(asio::any_io_executor const& executor,
                                             std::function<void(exit_status)> then) const {
    state_->core->wait_for(state_->ending, {std::move(then), executor, waiting_work::untracked});
}

IPYBOX_DECL asio::awaitable<std::optional<exit_status>>
supervised_process::exited(std::chrono::milliseconds bound) const {
    // A function still waits when the bound has passed, not a coroutine that would keep the context at work.
    struct ending {
        explicit ending(asio::any_io_executor const& executor, std::chrono::milliseconds limit)
            : timer(executor, limit) {}
        asio::steady_timer timer;
        std::optional<exit_status> status;
    };
    auto const executor = co_await asio::this_coro::executor;
    auto const shared = std::make_shared<ending>(executor, bound);
    on_exit(executor, [weak = std::weak_ptr<ending>(shared)](exit_status status) {
        auto const waiting = weak.lock();
        if (!waiting) return;
        waiting->status = status;
        waiting->timer.cancel();
    });
    asio::error_code over;
    co_await shared->timer.async_wait(asio::redirect_error(asio::use_awaitable, over));
    co_return shared->status;
}

IPYBOX_DECL void supervised_process::watch(bool runs) const { state_->core->watch(state_->pid, runs); }

IPYBOX_DECL asio::awaitable<result<void>> supervised_process::signal(int number) const {
    auto const state = state_;
    auto const send = [state, number](completion<result<void>> done) {
        state->core->signal(state->pid, number, std::move(done));
    };
    co_return co_await await_completion<result<void>>(send);
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervised_process::run(program_launch program,
                                                                                os::unique_fd standard_input,
                                                                                os::unique_fd standard_output,
                                                                                os::unique_fd standard_error) const {
    auto const state = state_;
    json difference = json::object();
    for (auto const& [name, value] : program.env) difference[name] = value ? json(*value) : json();
    json request = {{"op", "run"},
                    {"kernel", state->pid},
                    {"argv", std::move(program.argv)},
                    {"env", std::move(difference)},
                    {"cwd", program.working_dir.string()}};
    std::vector<os::unique_fd> descriptors;
    descriptors.push_back(std::move(standard_input));
    descriptors.push_back(std::move(standard_output));
    descriptors.push_back(std::move(standard_error));
    auto const start = [&](completion<result<supervised_process>> done) {
        state->core->start_process(std::move(request), std::move(descriptors), std::chrono::seconds(10), {},
                                   std::move(done));
    };
    auto started = co_await await_completion<result<supervised_process>>(start);
    if (started || started.error() == errc::supervisor_died || started.error() == errc::not_running) co_return started;
    co_return failure(error(errc::program_not_started, started.error().text()).with_cause(started.error().cause()));
}

IPYBOX_DECL supervisor::supervisor(asio::any_io_executor executor, supervisor_options options)
    : core_(make_shared_in_process<supervisor_core>(std::move(executor), std::move(options))) {}

IPYBOX_DECL supervisor::supervisor(supervisor_options options)
    : core_(make_shared_in_process<supervisor_core>(std::make_unique<io_thread>(), std::move(options))) {}

IPYBOX_DECL supervisor::supervisor(std::shared_ptr<supervisor> owner)
    : owner_(std::move(owner)), core_(owner_->core_) {}

IPYBOX_DECL std::shared_ptr<supervisor> supervisor::share(std::shared_ptr<supervisor> const& owner) {
    return std::shared_ptr<supervisor>(new supervisor(owner));
}

IPYBOX_DECL supervisor::~supervisor() { end(); }

IPYBOX_DECL void supervisor::end() {
    if (!owner_) return core_->end();
    std::vector<std::weak_ptr<supervised_state>> ending;
    {
        std::scoped_lock const lock(mutex_);
        ending = std::exchange(tenants_, {});
    }
    for (auto const& weak : ending)
        if (auto const state = weak.lock()) core_->discard(state->pid);
}

IPYBOX_DECL asio::awaitable<void> supervisor::ended() {
    auto const core = core_;
    if (owner_)
        end();
    else
        co_await core->ended();
}

/// Of a share, what it started is remembered.
IPYBOX_DECL result<supervised_process> supervisor::started(result<supervised_process> process) {
    if (!owner_ || !process) return process;
    std::scoped_lock const lock(mutex_);
    std::erase_if(tenants_, [](auto const& weak) { return weak.expired(); });
    tenants_.push_back(process->state_);
    return process;
}

IPYBOX_DECL asio::awaitable<result<supervisor_info>> supervisor::ready(std::chrono::milliseconds bound,
                                                                       std::stop_token stop) {
    auto const core = core_;
    auto const wait = [&](completion<result<supervisor_info>> done) {
        core->when_ready(bound, std::move(stop), std::move(done));
    };
    co_return co_await await_completion<result<supervisor_info>>(wait);
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervisor::fork(kernel_launch launch, os::unique_fd stream) {
    auto const core = core_;
    detail::json request = {
        {"op", "fork"}, {"env", launch.env}, {"cwd", launch.working_dir.string()}, {"restore_cwd", !launch.keep_cwd}};
    if (launch.guard == kernel_guard::no_exec) request["guard"] = "no_exec";
    for (auto const access : launch.allow) request["allow"].push_back(access.name());
    std::vector<os::unique_fd> descriptors;
    descriptors.push_back(std::move(stream));
    if (launch.action_socket) {
        descriptors.emplace_back(::fcntl(launch.action_socket->get(), F_DUPFD_CLOEXEC, 0));
        if (!descriptors.back()) co_return failure(system_failure("a descriptor for the kernel", errno));
    }
    auto const start = [&](completion<result<supervised_process>> done) {
        core->start_process(std::move(request), std::move(descriptors), launch.start_bound, launch.stop,
                            std::move(done));
    };
    co_return started(co_await await_completion<result<supervised_process>>(start));
}

IPYBOX_DECL asio::awaitable<result<supervised_process>> supervisor::spawn(std::vector<std::string> argv,
                                                                          kernel_launch launch) {
    auto const core = core_;
    json request = {{"op", "spawn"}, {"argv", argv}, {"env", launch.env}, {"cwd", launch.working_dir.string()}};
    auto const start = [&](completion<result<supervised_process>> done) {
        core->start_process(std::move(request), {}, launch.start_bound, launch.stop, std::move(done));
    };
    co_return started(co_await await_completion<result<supervised_process>>(start));
}

IPYBOX_DECL std::filesystem::path const& supervisor::private_dir() const noexcept { return core_->private_dir(); }
IPYBOX_DECL supervisor_options const& supervisor::options() const noexcept { return core_->options(); }
IPYBOX_DECL std::string supervisor::diagnostics() const { return core_->diagnostics(); }

} // namespace ipybox::detail
