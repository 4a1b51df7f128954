#pragma once

#include <ipybox/core/config.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/**
 * \brief A host as it is compared: lower case, without the one dot that may end a name; an IP address in its usual
 * spelling.
 * \details Names consist of letters, digits, `-`, `_` and dots, 253 at most and 63 in each label. Everything else is
 * refused before any list is asked, since resolvers cut names at characters that a list would compare: NUL, `%`, `@`,
 * blanks. IPv6 addresses stand in brackets or bare. Names that a resolver would read as an IPv4 address (`0x7f.1`,
 * `2130706433`, `127.1`) are refused unless they are one in the usual spelling; an IPv4 address that is written as an
 * IPv6 one (`::ffff:127.0.0.1`) becomes the IPv4 one.
 * \return none if `written` is not a host
 */
[[nodiscard]] std::optional<std::string> normal_host(std::string_view written);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/network_host.ipp>
#endif
