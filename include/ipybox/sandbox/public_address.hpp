#pragma once

#include <ipybox/core/config.hpp>

#include <asio/ip/address.hpp>

namespace ipybox::detail {

/// The address that an address leads to: IPv6 addresses that stand for IPv4 ones (mapped, RFC 4291 2.5.5.2; NAT64, RFC
/// 6052 2.1; 6to4, RFC 3056) count as those, others as themselves.
[[nodiscard]] asio::ip::address led_to(asio::ip::address const& address);

/**
 * \brief Whether an address belongs to the public network.
 * \details Not public are those of this machine and of networks around it: loopback, private, link-local (the metadata
 * services of clouds), shared, multicast, unspecified and reserved addresses (IANA's special-purpose registries, RFC
 * 6890), also within IPv6 addresses that lead to IPv4 ones (mapped, NAT64, 6to4).
 */
[[nodiscard]] bool is_public(asio::ip::address const& address);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/public_address.ipp>
#endif
