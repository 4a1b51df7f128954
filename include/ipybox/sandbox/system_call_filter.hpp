#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/system_access.hpp>

#include <span>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// Sockets of the families AF_INET and AF_INET6.
enum class internet_sockets { open, refused };

/**
 * \brief The base filter of system calls, as bytes that the kernel and `bwrap --seccomp` take.
 * \details docs/sandbox.md lists the filtered calls. `allow` is left open.
 * \par Errors errc::sandbox_unavailable — there is none for this processor
 */
[[nodiscard]] result<std::string> system_call_filter(std::span<system_access const> allow,
                                                     internet_sockets internet = internet_sockets::open);

/// The one of a processor, by its name in `uname -m`.
[[nodiscard]] result<std::string> system_call_filter(std::string_view machine, std::span<system_access const> allow,
                                                     internet_sockets internet = internet_sockets::open);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/system_call_filter.ipp>
#endif
