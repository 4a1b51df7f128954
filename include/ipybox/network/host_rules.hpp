#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/rules/matched_rule.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <asio/ip/address.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/** \file
 * The hosts that the configuration of a sandbox allows and denies, and the addresses that none of them may have.
 */

namespace ipybox::detail {

/**
 * \brief Whether the configuration allows a host, denies it, or leaves it to be asked for, with the pattern that says
 * so.
 * \param host as `normal_host` returns it
 */
[[nodiscard]] matched_rule decide_host(sandbox_config::network_access const& config, std::string_view host,
                                       std::uint16_t port);

/**
 * \brief Those of the addresses of a host that may be connected to.
 * \details Addresses that are not public are left out, unless `allowed_addresses` has them or `trusted_domains` the
 * host; so are `own` ones, those of this machine, and those of `denied_addresses` in any case. An address in IPv6 that
 * leads to one in IPv4 counts as both. The caller connects to what is returned, and does not look the host up again: a
 * second answer could be another.
 * \param port that is to be reached; 0: none of `trusted_domains` counts
 * \par Errors errc::approval_rejected — none is left; errc::io_error — there was none
 */
[[nodiscard]] result<std::vector<asio::ip::address>> reachable_addresses(sandbox_config::network_access const& config,
                                                                         std::string_view host,
                                                                         std::vector<asio::ip::address> const& found,
                                                                         std::vector<asio::ip::address> const& own,
                                                                         std::uint16_t port = 0);

/// The address in a socket's address; none where it is of another family.
[[nodiscard]] std::optional<asio::ip::address> address_of(sockaddr const* raw);

/// The addresses of this machine's interfaces.
[[nodiscard]] std::vector<asio::ip::address> own_addresses();

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/network/impl/host_rules.ipp>
#endif
