#pragma once

#include <ipybox/core/result.hpp>

#include <asio/ip/address.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/// IP addresses in CIDR notation (RFC 4632, RFC 4291 2.3): "10.0.0.0/8", "fc00::/7", or one address.
class address_range {
  public:
    /// \par Errors errc::invalid_argument, with a sentence that quotes the text
    [[nodiscard]] static result<address_range> parse(std::string_view text);

    /// IPv4 addresses that are written as IPv6 ones count as what they stand for.
    [[nodiscard]] bool contains(asio::ip::address const& address) const noexcept;

    /// In CIDR notation: "10.0.0.0/8".
    [[nodiscard]] std::string text() const;

  private:
    address_range(asio::ip::address network, unsigned short prefix_length) noexcept
        : network_(network), prefix_length_(prefix_length) {}

    asio::ip::address network_; ///< its first address
    unsigned short prefix_length_;
};

namespace detail {

/**
 * \brief Whether an address belongs to the public network.
 * \details Not public are those of this machine and of networks around it: loopback, private, link-local (the metadata
 * services of clouds), shared, multicast, unspecified and reserved addresses (IANA's special-purpose registries, RFC
 * 6890), also within IPv6 addresses that lead to IPv4 ones (mapped, NAT64, 6to4).
 */
[[nodiscard]] bool is_public(asio::ip::address const& address);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/address_range.ipp>
#endif
