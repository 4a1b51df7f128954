#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/kernel/interpreter.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/session/make_session.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/session_parts.hpp>

#include <utility>

namespace ipybox::detail {

/// The interpreter's environment is mounted read-only.
inline os::code_reach reach_of_kernel(executor_options const& options, session_sandbox const& sandbox,
                                      os::host_environment const& host) {
    auto reach = sandbox.reach(options.working_dir, host);
    reach.close({python_environment(host, options.kernel.python)});
    reach.close(options.sandbox.read_only);
    reach.close(options.sandbox.hidden);
    return reach;
}

IPYBOX_DECL std::shared_ptr<session_handle> make_session(std::optional<asio::any_io_executor> application,
                                                         executor_options options, any_approval approval,
                                                         session_sandbox sandbox, std::shared_ptr<kernel_host> shared,
                                                         std::shared_ptr<kernel_link> link, this_build /*caller*/) {
    if (shared && options.working_dir.empty()) {
        options.working_dir = shared->working_dir();
        options.kernel.keep_cwd = options.kernel.keep_cwd.value_or(true);
    }
    auto const programs = os::host_programs::now();
    auto const& host = programs->environment();
    options.kernel.keep_cwd = options.kernel.keep_cwd.value_or(options.working_dir.empty());
    options.working_dir = host.absolute(options.working_dir.empty() ? "." : options.working_dir);
    programs->add_reach(shared ? shared->programs()->reach() : reach_of_kernel(options, sandbox, host));
    session_parts parts{std::move(options),      programs,          std::move(approval),
                        std::move(sandbox.wrap), std::move(shared), std::move(link)};
    return session_handle::make(
        application ? serial_context::on_strand_of(*application) : serial_context::on_own_thread(), std::move(parts));
}

} // namespace ipybox::detail
