#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/packages/add_packages.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/session_settings.hpp>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::detail {

inline std::filesystem::path directory_or(std::filesystem::path const& wanted, char const* standard) {
    std::error_code ignored;
    return std::filesystem::absolute(wanted.empty() ? std::filesystem::path(standard) : wanted, ignored)
        .lexically_normal();
}

inline executor_options with_absolute_paths(executor_options options) {
    options.images_dir = directory_or(options.images_dir, "images");
    if (!options.working_dir.empty()) options.working_dir = directory_or(options.working_dir, ".");
    std::error_code ignored;
    if (options.spill_dir.empty()) options.spill_dir = std::filesystem::temp_directory_path(ignored);
    options.spill_dir = directory_or(options.spill_dir, "/tmp");
    return options;
}

inline std::shared_ptr<output_places> places_of(executor_options const& options) {
    auto const whole = with_absolute_paths(options);
    auto const afterwards = options.spill_dir.empty() ? spilled_files::removed : spilled_files::kept;
    output_places::settings const settings{whole.images_dir, whole.spill_dir, directory_or(options.working_dir, "."),
                                           afterwards};
    return std::make_shared<output_places>(settings);
}

inline void append(std::vector<std::filesystem::path>& to, std::vector<std::filesystem::path> const& more) {
    to.insert(to.end(), more.begin(), more.end());
}

IPYBOX_DECL session_settings::session_settings(executor_options options)
    : places_(places_of(options)), options_(with_absolute_paths(std::move(options))) {}

IPYBOX_DECL std::chrono::milliseconds session_settings::end_grace() const { return clamped(options_.end_grace); }

IPYBOX_DECL approval_settings session_settings::approval() const {
    approval_settings settings;
    settings.approve_tool_calls = options_.approve_tool_calls;
    settings.approve_shell_cmds = options_.approve_shell_cmds;
    settings.approval_timeout = options_.approval_timeout;
    settings.calls_per_cell = options_.calls_per_cell;
    settings.repeated = options_.repeated;
    settings.rules = options_.rules;
    settings.audit = options_.audit;
    settings.audit_session = options_.audit_session;
    return settings;
}

IPYBOX_DECL supervisor_options session_settings::supervisor(launch_wrapper wrap, transport_facts const& facts,
                                                            mcp::detail::server_files const& servers) const {
    supervisor_options own;
    own.python = options_.python;
    own.env = kernel_environment(options_.kernel_env);
    own.working_dir = directory_or(options_.working_dir, ".");
    own.wrap = std::move(wrap);
    own.duty = facts.forks_kernels ? supervisor_options::role::forks_kernels : supervisor_options::role::spawns_only;
    own.preload = options_.preload;
    own.allow = options_.allow;
    own.limits = options_.limits;
    own.read_only = options_.read_only;
    append(own.read_only, servers.read_only);
    own.hidden = options_.hidden;
    append(own.hidden, servers.secret);
    add_packages(own, options_.packages);
    return own;
}

IPYBOX_DECL kernel_launch session_settings::plain_kernel() const {
    kernel_launch launch;
    auto env = options_.kernel_env;
    env.insert(options_.untrusted_env.begin(), options_.untrusted_env.end());
    launch.env = kernel_environment(env);
    launch.working_dir = directory_or(options_.working_dir, ".");
    launch.after_cell =
        options_.after_cell.value_or(options_.working_dir.empty() ? cwd_policy::keep : cwd_policy::restore);
    launch.start_bound = clamped(options_.kernel_init_timeout);
    return launch;
}

IPYBOX_DECL kernel_launch session_settings::asking_kernel(std::shared_ptr<os::unique_fd const> action_socket) const {
    auto launch = plain_kernel();
    if (!options_.argv.empty()) launch.env["IPYBOX_ARGV"] = json_text(nlohmann::json(options_.argv));
    launch.guard = options_.require_shell_escape ? kernel_guard::no_exec : kernel_guard::none;
    launch.allow = options_.allow;
    launch.action_socket = std::move(action_socket);
    return launch;
}

/// Without an action channel, what a kernel was told to ask for would happen without a question.
IPYBOX_DECL result<void> session_settings::allows(transport_facts const& facts) const {
    if (options_.require_shell_escape && !facts.can_be_guarded)
        return failure(errc::guard_unavailable,
                       "require_shell_escape needs a transport whose kernels can be guarded: socketpair_transport");
    if (options_.approve_shell_cmds && !facts.carries_actions)
        return failure(errc::invalid_argument,
                       "approve_shell_cmds needs a transport that carries actions: socketpair_transport");
    if (!options_.untrusted_env.empty() && !facts.forks_kernels) // it would be that of the programs in front of it too
        return failure(errc::invalid_argument,
                       "untrusted_env needs a transport that forks kernels: socketpair_transport");
    return result<void>();
}

} // namespace ipybox::detail
