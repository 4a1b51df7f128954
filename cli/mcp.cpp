#include <ipybox/app/code_server.hpp>
#include <ipybox/app/workspace_env.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/os/host_environment.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <cli/box.hpp>
#include <cli/interrupts.hpp>
#include <cli/mcp.hpp>
#include <cli/output_file.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::cli {
namespace {

constexpr std::string_view name_of(log_level level) noexcept {
    switch (level) {
    case log_level::debug: return "debug";
    case log_level::info: return "info";
    case log_level::warning: return "warning";
    case log_level::error: return "error";
    case log_level::critical: break;
    }
    return "critical";
}

/// Writes to standard error what the level lets through. Many clients never read it: what does not fit into the pipe is
/// dropped.
class server_log {
  public:
    explicit server_log(log_level least) : least_(least) {}

    void operator()(log_level level, std::string_view text) const {
        if (level < least_) return;
        auto line = "ipybox: " + std::string(name_of(level)) + ": " + std::string(text.substr(0, longest));
        std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
        line += '\n';
        pollfd room{STDERR_FILENO, POLLOUT, 0};
        if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
        [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
    }

  private:
    static constexpr std::size_t longest = 2000; ///< less than what a pipe takes that has any room

    log_level least_;
};

/// Standard output is the client's: whatever else the process writes there goes to standard error.
os::unique_fd take_standard_output() {
    os::unique_fd client(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (client) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    return client;
}

/// Where servers that models register are kept. No code gets to read or write there.
std::shared_ptr<kept_servers> servers_of_earlier_runs(mcp_options const& options, executor_options& box,
                                                      server_log const& log) {
    auto const directory = kept_servers::directory(os::host_environment::now());
    auto opened = directory.empty() ? failure(errc::io_error, "neither XDG_STATE_HOME nor HOME is an absolute path")
                                    : kept_servers::open(directory, options.working_dir);
    if (!opened) {
        log(log_level::warning,
            "MCP servers that are registered are not kept for later runs: " + opened.error().text());
        return nullptr;
    }
    if (options.sandbox != sandbox_choice::none) box.sandbox.hidden.push_back(directory);
    return std::make_shared<kept_servers>(*std::move(opened));
}

result<code_session_options> session_options_of(mcp_options const& options, server_log const& log, output_file& err) {
    code_session_options session;
    auto read = box_executor_options(options);
    if (!read) return failure(read);
    auto& box = session.executor = *std::move(read);
    auto packages = packages_of(options);
    if (!packages) return failure(packages);
    box.kernel.packages = *std::move(packages);

    auto const env = read_workspace_env(options.working_dir);
    for (auto const& notice : env.notices) log(log_level::warning, notice);
    auto const given = std::exchange(box.kernel.env, env.kernel);
    box.kernel.env.insert(given.begin(), given.end());
    box.kernel.untrusted_env = env.kernel_of_file;
    mcp::registry_options servers;
    servers.variables = [process = os::host_environment::now(),
                         host = env.host](std::string const& name) -> std::optional<std::string> {
        if (auto set = process.find(name)) return set;
        auto const found = host.find(name);
        return found == host.end() ? std::nullopt : std::optional(found->second);
    };
    box.mcp.options = std::make_shared<mcp::registry_options const>(std::move(servers));

    // Of each of the cells that are kept, in each session.
    auto const most_output = std::size_t(options.sessions ? 1 : 8) << 20;
    box.output.max_memory = most_output;
    box.output.spill_dir = options.working_dir / "output";
    box.approval.shell_cmds = true;
    box.approval.calls_per_cell = usual_calls_per_cell;
    box.kernel.restart_dead = true;
    box.kernel.keep_cwd = true;
    box.sandbox.read_only = options.deciding_files();
    // Also one that is missing: code would decide what the servers of the next start get.
    if (options.sandbox != sandbox_choice::none)
        box.sandbox.hidden = {std::filesystem::absolute(options.working_dir / ".env")};
    if (!options.missing_config.empty()) {
        log(log_level::warning, options.missing_config.string() + " does not exist: the default sandbox is used");
        // Code would make the configuration of the next start.
        auto const file = options.missing_config.lexically_normal();
        if (os::lies_in(file, options.working_dir)) box.sandbox.hidden.push_back(file);
    }

    auto sandbox = sandbox_of(options, err);
    if (!sandbox) return failure(sandbox);
    session.sandbox = *std::move(sandbox);
    session.approval = options.approval;
    session.kept = servers_of_earlier_runs(options, box, log);
    session.mcp_config = options.mcp_config;
    session.server_timeouts = options.server_timeouts;
    session.wait = options.wait;
    session.sessions = options.sessions;
    session.log = log;
    return session;
}

/// Serves until the client or a signal ends it.
result<void> serve(code_server const& server, std::shared_ptr<mcp::server::channel> channel, asio::io_context& io,
                   std::stop_token const& stop) {
    result<void> outcome;
    asio::cancellation_signal end;
    auto const ended = [&](std::exception_ptr thrown, result<void> served) {
        outcome = std::move(served);
        io.stop();
        if (thrown) std::rethrow_exception(thrown);
    };
    ipybox::detail::spawn(io.get_executor(), server.serve(std::move(channel)), ended, end.slot());
    std::stop_callback const on_stop(stop,
                                     [&] { asio::post(io, [&end] { end.emit(asio::cancellation_type::terminal); }); });
    io.run();
    return outcome;
}

} // namespace

exit_code serve_mcp(mcp_options const& options, orphans const& left_behind) {
    server_log const log(options.level);
    auto const client = take_standard_output();
    output_file err(STDERR_FILENO);
    auto const complain = [&](std::string const& why, exit_code code) {
        err.write_lines("ipybox: " + why);
        return code;
    };
    if (!client) return complain("standard output is not open", exit_code::failed);
    if (options.has_old_options)
        log(log_level::warning,
            "the options about hosts and ports of tool server and kernel gateway have no effect: there are none");
    if (!options.notice_of_directory.empty()) log(log_level::warning, options.notice_of_directory);
    auto session = session_options_of(options, log, err);
    if (!session) return complain(session.error().text(), exit_code::usage);

    interrupts signals(left_behind);
    std::stop_source stop;
    interrupts::target const target(signals, stop);
    asio::io_context io{1};
    auto const server = code_server::make(io.get_executor(), *std::move(session));
    if (!server) return complain(server.error().text(), exit_code::usage);
    auto channel = mcp::server::channel::stdio(mcp::server::limits().max_line_in, STDIN_FILENO, client.get());
    if (!channel) return complain(channel.error().text(), exit_code::failed);
    auto const served = serve(*server, *std::move(channel), io, stop.get_token());
    if (auto const code = signals.ending()) return *code;
    return served ? exit_code::ok : complain(served.error().text(), exit_code::failed);
}

} // namespace ipybox::cli
