#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <asio/awaitable.hpp>
#include <asio/ip/address.hpp>

#include <memory>
#include <string>
#include <vector>

namespace ipybox::detail {

/// So many names are looked up at one time by one process.
inline constexpr int most_lookups = 64;

/// Asks the system, and waits for its answer. \par Errors errc::io_error — the name has no address
[[nodiscard]] result<std::vector<asio::ip::address>> look_up_in_system(std::string const& host);

/**
 * \brief The addresses of a host, which may be an address itself.
 * \details A name is looked up by a thread of its own, by the configuration's `resolve` or the system. The system
 * cannot be told to stop: nothing waits for the thread where the coroutine is destroyed.
 * \par Errors errc::io_error — it has no address, or there are too many lookups
 */
[[nodiscard]] asio::awaitable<result<std::vector<asio::ip::address>>>
look_up_host(std::shared_ptr<sandbox_config::network_access const> config, std::string host);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/host_lookup.ipp>
#endif
