#pragma once

#include <ipybox/core/built_with.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/executor_options.hpp>
#include <ipybox/fwd.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace ipybox::detail {

class kernel_link;
class session_handle;

/// Makes the body of an executor. Without an application's executor it gets a thread of its own; with a shared host
/// `wrap` does not count. The last argument makes the linker compare what both sides are compiled with.
[[nodiscard]] std::shared_ptr<session_handle> make_session(std::optional<asio::any_io_executor> application,
                                                           executor_options options, any_approval approval,
                                                           std::function<result<launch_spec>(launch_spec)> wrap,
                                                           std::shared_ptr<kernel_host> shared,
                                                           std::shared_ptr<kernel_link> link, this_build caller);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/make_session.ipp>
#endif
