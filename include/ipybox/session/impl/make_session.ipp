#pragma once

#include <ipybox/approval/any_approval.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/session/make_session.hpp>
#include <ipybox/session/session_handle.hpp>
#include <ipybox/session/session_parts.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::shared_ptr<session_handle> make_session(std::optional<asio::any_io_executor> application,
                                                         executor_options options, any_approval approval,
                                                         launch_wrapper wrap, std::shared_ptr<kernel_host> shared,
                                                         std::shared_ptr<kernel_link> link, this_build /*caller*/) {
    if (shared && options.working_dir.empty()) {
        options.working_dir = shared->working_dir();
        options.kernel.keep_cwd = options.kernel.keep_cwd.value_or(true);
    }
    session_parts parts{std::move(options), std::move(approval), std::move(wrap), std::move(shared), std::move(link)};
    return session_handle::make(
        application ? serial_context::on_strand_of(*application) : serial_context::on_own_thread(), std::move(parts));
}

} // namespace ipybox::detail
