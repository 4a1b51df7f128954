#pragma once

#include <ipybox/session/make_session.hpp>
#include <ipybox/session/session.hpp>

#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::shared_ptr<session> make_session(std::optional<asio::any_io_executor> application,
                                                  executor_options options, any_approval approval, launch_wrapper wrap,
                                                  std::shared_ptr<supervisor> shared,
                                                  std::unique_ptr<kernel_link> link) {
    session_parts parts{std::move(options), std::move(approval), std::move(wrap), std::move(shared), std::move(link)};
    return std::make_shared<session>(application ? home_on(*application) : own_home(), std::move(parts));
}

} // namespace ipybox::detail
