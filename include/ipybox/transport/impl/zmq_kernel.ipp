#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/kernel/runtime_source.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/transport/impl/tcp_ports.hpp>
#include <ipybox/transport/impl/zmq_kernel.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace ipybox::detail {

inline asio::awaitable<void> kill_process(supervised_process process) {
    auto const sent = co_await process.signal(SIGKILL);
    (void)sent; // it may have ended by itself
}

/// The status of a process that ends in time.
inline asio::awaitable<std::optional<exit_status>> end_of(supervised_process process,
                                                          zmq_link::clock::time_point deadline) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - zmq_link::clock::now());
    co_return co_await process.exited(std::max(left, std::chrono::milliseconds(0)));
}

/// Whether ports on 127.0.0.1 inside the sandbox are ours, or it cannot be told.
inline asio::awaitable<bool> shares_network(supervisor& host, kernel_launch const& launch,
                                            zmq_link::clock::time_point deadline) {
    std::error_code failed;
    auto const ours = std::filesystem::read_symlink("/proc/self/ns/net", failed);
    if (failed) co_return true;
    static constexpr int differs = 1;
    std::vector<std::string> argv = {"/bin/sh", "-c", "n=$(readlink /proc/self/ns/net) || exit 2; test \"$n\" = \"$1\"",
                                     "sh", ours.string()};
    auto probe = co_await host.spawn(std::move(argv), launch);
    if (!probe) co_return true;
    auto const status = co_await end_of(*probe, deadline);
    co_return !status || status->code != differs;
}

inline jupyter::message kernel_info_request() {
    return {jupyter::message::channel::shell, "kernel_info_request", nlohmann::json::object()};
}

inline kernel_info info_of(jupyter::message const& reply) {
    auto const language = reply.content.find("language_info");
    auto const known = language != reply.content.end() ? *language : nlohmann::json::object();
    kernel_info info;
    info.implementation = jupyter::message::field(reply.content, "implementation");
    info.implementation_version = jupyter::message::field(reply.content, "implementation_version");
    info.language = jupyter::message::field(known, "name");
    info.language_version = jupyter::message::field(known, "version");
    return info;
}

/// The code that makes a stock Python kernel behave as a forked one (python/ipybox_kernel/prelude.py).
inline std::string prelude_code(bool keep_cwd) {
    std::string code;
    for (auto const& module : runtime_modules)
        if (module.name == "prelude") code = module.text;
    code += keep_cwd ? "\n_ipybox_prelude(restore_cwd=False)\n" : "\n_ipybox_prelude(restore_cwd=True)\n";
    return code + "del _ipybox_prelude\n";
}

/// The end of what the supervisor's side wrote to standard error.
inline std::string last_words(supervisor const& host) {
    static constexpr std::size_t limit = 4000;
    auto said = host.diagnostics();
    if (said.size() > limit) said.erase(0, said.size() - limit);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    return said;
}

IPYBOX_DECL zmq_kernel::~zmq_kernel() {
    if (link_) link_->close();
    if (process_) detail::spawn(executor_, kill_process(process_));
    remove_files();
}

IPYBOX_DECL void zmq_kernel::remove_files() noexcept {
    if (file_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    file_.clear();
    if (info_.protocol != jupyter::detail::socket_protocol::ipc) return;
    for (int const port : {info_.shell_port, info_.iopub_port, info_.stdin_port, info_.control_port, info_.hb_port})
        std::filesystem::remove(info_.socket_path(port), ignored);
}

/// Chooses addresses and a key, and writes the connection file.
IPYBOX_DECL result<void> zmq_kernel::prepare(supervisor& host) {
    info_ = jupyter::connection_info();
    info_.protocol = options_.protocol;
    info_.key = random_hex(32);
    info_.kernel_name = spec_.name;
    auto const base = host.private_dir() / ("k" + random_hex(4));
    int* const ports[] = {&info_.shell_port, &info_.iopub_port, &info_.stdin_port, &info_.control_port, &info_.hb_port};
    if (options_.protocol == jupyter::detail::socket_protocol::ipc) {
        info_.ip = base.string();
        int number = 0;
        for (auto* const port : ports) *port = ++number;
        if (info_.socket_path(info_.hb_port).string().size() > jupyter::connection_info::ipc_path_limit)
            return failure(errc::kernel_start_failed,
                           "the paths of Unix sockets in " + host.private_dir().string() + " are too long");
    } else {
        auto const chosen = free_tcp_ports();
        if (!chosen) return failure(chosen.error());
        for (std::size_t i = 0; i < chosen->size(); ++i) *ports[i] = (*chosen)[i];
    }
    auto const file = base.string() + ".json";
    if (auto written = jupyter::write_connection_file(file, info_); !written) return written;
    file_ = file;
    return {};
}

IPYBOX_DECL asio::awaitable<result<kernel_host::info>> zmq_kernel::start(std::shared_ptr<supervisor> host,
                                                                         kernel_launch launch) {
    auto const self = shared_from_this();
    auto const deadline = clock::now() + clamped(launch.start_bound);
    environment env;
    for (char const* name : {"JUPYTER_PATH", "JUPYTER_DATA_DIR", "XDG_DATA_HOME", "HOME"})
        if (auto const value = host->options().host->environment().find(name)) env[name] = *value;
    auto dirs = options_.kernelspec_dirs;
    for (auto& dir : jupyter::kernelspec_dirs(env, host->options().python)) dirs.push_back(std::move(dir));
    auto spec = jupyter::find_kernelspec(options_.kernelspec, dirs);
    if (!spec) co_return failure(spec);
    spec_ = std::move(*spec);
    launch.env = jupyter::kernel_environment(spec_, std::move(launch.env));
    launch.stop = stop_.get_token();

    auto const ready = co_await host->ready(launch.start_bound, launch.stop);
    if (!ready) co_return failure(ready.error());
    bool const tcp = options_.protocol == jupyter::detail::socket_protocol::tcp;
    bool reachable = true;
    if (tcp) reachable = co_await shares_network(*host, launch, deadline);
    if (!reachable)
        co_return failure(errc::kernel_start_failed,
                          "the sandbox has a network of its own, where the TCP ports of a kernel cannot be "
                          "reached: use zmq_transport with protocol ipc, or a sandbox that shares the network");

    // Free ports are only free until another process takes them.
    for (int attempts_left = tcp ? 3 : 1;;) {
        auto info = co_await start_once(*host, launch, deadline);
        if (info || stop_.stop_requested()) co_return info;
        bool const again = --attempts_left > 0 && info.error() == errc::kernel_start_failed &&
                           !are_free_tcp_ports({info_.shell_port, info_.iopub_port, info_.stdin_port,
                                                info_.control_port, info_.hb_port});
        if (!again) co_return info;
        co_await end();
    }
}

IPYBOX_DECL asio::awaitable<result<kernel_host::info>>
zmq_kernel::start_once(supervisor& host, kernel_launch const& launch, clock::time_point deadline) {
    if (auto prepared = prepare(host); !prepared) co_return failure(prepared);
    auto argv = jupyter::kernel_command(spec_, file_, host.options().python);
    auto process = co_await host.spawn(std::move(argv), launch);
    if (!process) co_return failure(process);
    process_ = std::move(*process);
    if (stop_.stop_requested()) co_return failure(errc::not_running, "the transport has been stopped");

    link_ = std::make_shared<zmq_link>(executor_, info_, true);
    process_.on_exit(executor_, [weak = std::weak_ptr<zmq_link>(link_)](exit_status status) {
        if (auto const alive = weak.lock()) alive->process_ended(status);
    });
    // A kernel answers when all its sockets are there. From then on each is connected once, without a retry.
    if (auto open = link_->open_probe(); !open) co_return failure(open);
    auto info = co_await greet(deadline);
    if (!info) co_return failure(explain(std::move(info).error(), host, launch));
    if (auto open = link_->open(); !open) co_return failure(open);
    auto connected = co_await link_->connected(deadline);
    if (connected && python_) connected = co_await set_up(launch.keep_cwd, deadline);
    if (connected) connected = co_await settle(deadline);
    if (!connected) co_return failure(explain(std::move(connected).error(), host, launch));
    co_return info;
}

IPYBOX_DECL asio::awaitable<result<kernel_host::info>> zmq_kernel::attach(std::chrono::milliseconds bound) {
    auto const self = shared_from_this();
    auto const deadline = clock::now() + clamped(bound);
    auto info = jupyter::read_connection_file(options_.connection_file);
    if (!info) co_return failure(info);
    link_ = std::make_shared<zmq_link>(executor_, *info, false);
    if (auto open = link_->open(); !open) co_return failure(open);
    if (auto connected = co_await link_->connected(deadline); !connected) co_return failure(connected);
    auto known = co_await greet(deadline);
    if (known) {
        auto settled = co_await settle(deadline);
        if (settled) co_return known;
        known = failure(settled);
    }
    if (known.error() == errc::kernel_unresponsive)
        co_return failure(errc::kernel_unresponsive,
                          "the kernel of " + options_.connection_file.string() + " did not answer within " +
                              std::to_string(bound.count()) +
                              " ms: it is busy, or it has another key than its connection file");
    co_return known;
}

IPYBOX_DECL asio::awaitable<result<kernel_host::info>> zmq_kernel::greet(clock::time_point deadline) {
    auto const reply = co_await link_->ask(kernel_info_request(), deadline);
    if (!reply) co_return failure(reply.error());
    auto const info = info_of(*reply);
    python_ = info.language == "python";
    co_return info;
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_kernel::set_up(bool keep_cwd, clock::time_point deadline) {
    nlohmann::json content = {{"code", prelude_code(keep_cwd)}, {"silent", true},
                              {"store_history", false},         {"user_expressions", nlohmann::json::object()},
                              {"allow_stdin", false},           {"stop_on_error", false}};
    message request(channel::shell, "execute_request", std::move(content));
    auto const reply = co_await link_->ask(std::move(request), deadline);
    if (!reply) co_return failure(reply.error());
    if (jupyter::message::field(reply->content, "status") == "ok") co_return result<void>();
    co_return failure(errc::kernel_start_failed, "setting up the kernel '" + spec_.name +
                                                     "' failed: " + jupyter::message::field(reply->content, "ename") +
                                                     ": " + jupyter::message::field(reply->content, "evalue"));
}

/// Waits until iopub has been heard: what is published before the kernel knows of us would be lost.
IPYBOX_DECL asio::awaitable<result<void>> zmq_kernel::settle(clock::time_point deadline) {
    auto pause = std::chrono::milliseconds(5);
    for (;;) {
        auto const heard = co_await link_->hears_iopub(std::min(deadline, clock::now() + pause));
        if (!heard) co_return failure(heard.error());
        if (*heard) co_return result<void>();
        // The statuses of the last request went out too early. Those of the next may not.
        auto const reply = co_await link_->ask(kernel_info_request(), deadline);
        if (!reply) co_return failure(reply.error());
        pause = std::min(2 * pause, std::chrono::milliseconds(200));
        if (clock::now() >= deadline) co_return failure(errc::kernel_unresponsive, "the kernel publishes nothing");
    }
}

/// The error of a start that failed, with what is known about it.
IPYBOX_DECL error zmq_kernel::explain(error cause, supervisor const& host, kernel_launch const& launch) const {
    auto const said = last_words(host);
    auto const details = said.empty() ? std::string() : "; it said:\n" + said;
    if (cause == errc::kernel_died) {
        auto const status = cause.status();
        // Exactly what `python -m` and the launcher itself say.
        if (said.find("No module named ipykernel") != std::string::npos ||
            said.find("No module named 'ipykernel'") != std::string::npos) {
            auto const python = host.options().python.string();
            return error(errc::ipykernel_missing, "the kernel '" + spec_.name + "' needs ipykernel: " + python +
                                                      " -m pip install ipykernel" + details)
                .with_status(status);
        }
        return error(errc::kernel_start_failed,
                     "the kernel '" + spec_.name + "' ended while starting (" + to_string(status) + ")" + details)
            .with_status(status);
    }
    if (cause == errc::kernel_unresponsive)
        return error(errc::kernel_unresponsive, "the kernel '" + spec_.name + "' was not ready within " +
                                                    std::to_string(launch.start_bound.count()) +
                                                    " ms: " + cause.text() + details);
    return cause;
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_kernel::send(message m) {
    auto const self = shared_from_this();
    if (m.type == "execute_request") {
        if (auto ready = co_await recover(); !ready) co_return ready;
        if (m.id.empty()) m.id = jupyter::message::new_id();
        executing_ = m.id;
    }
    co_return link_->send(std::move(m));
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> zmq_kernel::receive() {
    auto const self = shared_from_this();
    auto m = co_await link_->receive();
    if (!m || m->parent_id != executing_) co_return m;
    bool const idle = m->type == "status" && jupyter::message::field(m->content, "execution_state") == "idle";
    if (!idle && m->type != "execute_reply") co_return m;
    // A caller that hears that interrupted code has ended may count on its kernel.
    if (auto alive = co_await recover(); !alive) co_return failure(alive.error());
    if (idle) executing_.clear();
    co_return m;
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_kernel::interrupt() {
    auto const self = shared_from_this();
    if (process_ && spec_.interrupts == jupyter::interrupt_mode::signal) {
        auto sent = co_await process_.signal(SIGINT);
        if (!sent) co_return sent;
    } else {
        auto answered =
            co_await link_->ask_beside(channel::control, "interrupt_request", clock::now() + std::chrono::seconds(2));
        if (!answered) co_return answered;
    }
    // It also wakes ipykernel's loop, which its signal handler does not do when it cancels a cell that awaits.
    link_->poke();
    if (executing_.empty()) co_return co_await recover();
    co_return result<void>();
}

/// Waits for an interrupted kernel's sign of life: one that was hit between two requests may lose the next, or answer
/// no more at all.
IPYBOX_DECL asio::awaitable<result<void>> zmq_kernel::recover() {
    static constexpr auto patience = std::chrono::milliseconds(500);
    for (int attempts_left = 4;;) {
        auto alive = co_await link_->sign_of_life(clock::now() + patience);
        if (alive || alive.error() != errc::kernel_unresponsive) co_return alive;
        if (--attempts_left == 0) break;
        link_->poke();
        link_->knock();
    }
    link_->give_up(error(errc::kernel_died, "after an interrupt the kernel gave no sign of life for two seconds"));
    if (process_) detail::spawn(executor_, kill_process(process_));
    co_return link_->state();
}

/// Only a kernel that was started here: one that was there before serves others, too.
IPYBOX_DECL result<void> zmq_kernel::ask_to_end() {
    if (!process_) return failure(errc::not_running, "the kernel is another's");
    message request(channel::control, "shutdown_request", {{"restart", false}});
    return link_->send(std::move(request));
}

IPYBOX_DECL asio::awaitable<void> zmq_kernel::stop() {
    stop_.request_stop();
    co_await end();
}

IPYBOX_DECL asio::awaitable<void> zmq_kernel::end() {
    auto const self = shared_from_this();
    if (link_) link_->close();
    if (process_) {
        auto const process = std::exchange(process_, supervised_process());
        co_await kill_process(process);
        auto const ended = co_await end_of(process, clock::now() + std::chrono::seconds(2));
        (void)ended; // the supervisor goes on with it when the bound has passed
    }
    remove_files();
}

} // namespace ipybox::detail
