#pragma once

#include <ipybox/core/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// The proxy of a network, by its URL: `http://[USER:PASSWORD@]HOST[:PORT]`.
struct parent_proxy_url {
    std::string host;
    std::uint16_t port = 80;
    std::string credentials = {}; ///< "USER:PASSWORD", without escapes; empty: none

    /// \par Errors errc::invalid_argument; the URL is not quoted: it may have a password
    [[nodiscard]] static result<parent_proxy_url> parse(std::string_view url);
};

/// The hosts of a list as NO_PROXY has it: names and addresses between commas.
[[nodiscard]] std::vector<std::string> exceptions_in(std::string_view list);

/**
 * \brief Whether a host is reached without the proxy.
 * \param exceptions names, which count for all names below them, too; addresses and ranges; `*`: all
 * \param host as `normal_host` returns it
 */
[[nodiscard]] bool is_exception(std::vector<std::string> const& exceptions, std::string_view host);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/parent_proxy_url.ipp>
#endif
