#pragma once

#include <ipybox/core/json_text.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/jupyter/message.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/session_settings.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
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
    options.kernel.keep_cwd = options.kernel.keep_cwd.value_or(options.working_dir.empty());
    options.output.images_dir = directory_or(options.output.images_dir, "images");
    options.working_dir = directory_or(options.working_dir, ".");
    if (!options.kernel.cache_dir.empty())
        options.kernel.cache_dir = (options.working_dir / options.kernel.cache_dir).lexically_normal();
    std::error_code ignored;
    if (options.output.spill_dir.empty()) options.output.spill_dir = std::filesystem::temp_directory_path(ignored);
    options.output.spill_dir = directory_or(options.output.spill_dir, "/tmp");
    return options;
}

inline std::shared_ptr<output_places> places_of(executor_options const& options) {
    auto const whole = with_absolute_paths(options);
    auto const afterwards = options.output.spill_dir.empty() ? spilled_files::removed : spilled_files::kept;
    output_places::settings const settings{whole.output.images_dir, whole.output.spill_dir, whole.working_dir,
                                           afterwards};
    return std::make_shared<output_places>(settings);
}

IPYBOX_DECL session_settings::session_settings(executor_options options,
                                               std::shared_ptr<os::host_programs const> programs)
    : places_(places_of(options)), options_(with_absolute_paths(std::move(options))), programs_(std::move(programs)) {}

IPYBOX_DECL std::chrono::milliseconds session_settings::end_grace() const { return clamped(options_.kernel.end_grace); }

IPYBOX_DECL supervisor_options session_settings::supervisor(launch_wrapper wrap, transport_facts const& facts) const {
    supervisor_options own;
    own.host = programs_;
    own.python = options_.kernel.python;
    own.python_bound = clamped(options_.kernel.init_timeout);
    own.env = kernel_environment(programs_->environment(), options_.kernel.env);
    own.working_dir = options_.working_dir;
    own.wrap = std::move(wrap);
    own.forks_kernels = facts.forks_kernels;
    own.preload = options_.kernel.preload;
    own.allow = options_.sandbox.allow;
    own.limits = options_.sandbox.limits;
    own.read_only = options_.sandbox.read_only;
    own.hidden = options_.sandbox.hidden;
    own.cache_dir = options_.kernel.cache_dir;
    return own;
}

IPYBOX_DECL kernel_launch session_settings::kernel(transport_facts const& facts) const {
    kernel_launch launch;
    auto env = options_.kernel.env;
    env.insert(options_.kernel.untrusted_env.begin(), options_.kernel.untrusted_env.end());
    launch.env = kernel_environment(programs_->environment(), env);
    launch.working_dir = options_.working_dir;
    launch.keep_cwd = *options_.kernel.keep_cwd;
    launch.start_bound = clamped(options_.kernel.init_timeout);
    if (!facts.carries_actions) return launch;
    if (!options_.kernel.argv.empty()) launch.env["IPYBOX_ARGV"] = json_text(nlohmann::json(options_.kernel.argv));
    if (auto const& caches = options_.kernel.cache_dir; !caches.empty()) launch.env["IPYBOX_CACHE"] = caches.string();
    launch.guard = options_.approval.require_shell_escape ? kernel_guard::no_exec : kernel_guard::none;
    launch.allow = options_.sandbox.allow;
    return launch;
}

/// A path of the options with a NUL byte in it, which the system would take for its end; empty if there is none.
inline std::string cut_path(executor_options const& options) {
    std::vector<std::filesystem::path> paths{options.working_dir, options.kernel.python, options.output.images_dir,
                                             options.output.spill_dir, options.kernel.cache_dir};
    paths.insert(paths.end(), options.sandbox.read_only.begin(), options.sandbox.read_only.end());
    paths.insert(paths.end(), options.sandbox.hidden.begin(), options.sandbox.hidden.end());
    auto const found =
        std::ranges::find_if(paths, [](auto const& path) { return path.native().find('\0') != std::string::npos; });
    return found == paths.end() ? std::string() : std::string(found->c_str());
}

/// Without an action channel, what a kernel was told to ask for would happen without a question.
IPYBOX_DECL result<void> session_settings::allows(transport_facts const& facts) const {
    if (options_.approval.require_shell_escape && !facts.can_be_guarded)
        return failure(
            errc::guard_unavailable,
            "approval.require_shell_escape needs a transport whose kernels can be guarded: socketpair_transport");
    if (options_.approval.shell_cmds && !facts.carries_actions)
        return failure(errc::invalid_argument,
                       "approval.shell_cmds needs a transport that carries actions: socketpair_transport");
    if (!options_.kernel.untrusted_env.empty() &&
        !facts.forks_kernels) // it would be that of the programs in front of it too
        return failure(errc::invalid_argument,
                       "kernel.untrusted_env needs a transport that forks kernels: socketpair_transport");
    if (auto const cut = cut_path(options_); !cut.empty())
        return failure(errc::invalid_argument, "a path of the options has a NUL byte in it, behind " + cut);
    return result<void>();
}

} // namespace ipybox::detail
