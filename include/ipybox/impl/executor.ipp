#pragma once

#include <ipybox/executor.hpp>
#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/make_session.hpp>
#include <ipybox/transport/socketpair_transport.hpp>

#include <utility>

namespace ipybox {
namespace detail {

inline std::unique_ptr<kernel_link> default_link() {
    return std::make_unique<transport_link<socketpair_transport>>(socketpair_transport());
}

inline launch_wrapper wrapper_of(any_sandbox sandbox) {
    return [sandbox = std::move(sandbox)](launch_spec spec) { return sandbox.wrap(std::move(spec)); };
}

} // namespace detail

IPYBOX_DECL executor::executor(executor_options options, any_approval approval, any_sandbox sandbox)
    : executor_base(detail::make_session(std::nullopt, std::move(options), std::move(approval),
                                         detail::wrapper_of(std::move(sandbox)), nullptr, detail::default_link())) {}

IPYBOX_DECL executor::executor(executor_options options, any_approval approval, runtime const& shared)
    : executor_base(detail::make_session(std::nullopt, std::move(options), std::move(approval), {}, shared.host(),
                                         detail::default_link())) {}

IPYBOX_DECL executor::executor(on_application, asio::any_io_executor io, executor_options options,
                               any_approval approval, any_sandbox sandbox)
    : executor_base(detail::make_session(std::move(io), std::move(options), std::move(approval),
                                         detail::wrapper_of(std::move(sandbox)), nullptr, detail::default_link())) {}

IPYBOX_DECL executor::executor(on_application, asio::any_io_executor io, executor_options options,
                               any_approval approval, runtime const& shared)
    : executor_base(detail::make_session(std::move(io), std::move(options), std::move(approval), {}, shared.host(),
                                         detail::default_link())) {}

} // namespace ipybox
