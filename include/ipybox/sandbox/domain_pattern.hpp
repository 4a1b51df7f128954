#pragma once

#include <ipybox/core/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ipybox {

/**
 * \brief Hosts of the network, as `allowedDomains` and `deniedDomains` of a sandbox's configuration name them.
 * \details `example.org` is that host alone, `*.example.org` every host below it and not itself; `:443` behind either
 * restricts it to a port. IPv6 addresses with a port stand in brackets: `[2001:db8::1]:443`. A pattern has at least two
 * labels, but for `localhost`, so that `*.org` is an error.
 */
class domain_pattern {
  public:
    /// \par Errors errc::invalid_argument, with a sentence that quotes the pattern
    [[nodiscard]] static result<domain_pattern> parse(std::string_view text);

    /// As `parse`; `*` and `*:80` stand for every host, too. For lists of what is denied.
    [[nodiscard]] static result<domain_pattern> parse_denied(std::string_view text);

    /// \param host as `normal_host` returns it
    [[nodiscard]] bool matches(std::string_view host, std::uint16_t port) const noexcept;

    /// The pattern as it was written.
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

  private:
    enum class scope { one_host, hosts_below, every_host };

    domain_pattern(std::string_view text, std::string host, scope s, std::optional<std::uint16_t> port)
        : text_(text), host_(std::move(host)), scope_(s), port_(port) {}

    static result<domain_pattern> parse(std::string_view text, bool every_host_allowed);

    std::string text_;
    std::string host_; ///< of `hosts_below` without the star: ".example.org"
    scope scope_;
    std::optional<std::uint16_t> port_; ///< every port, when there is none
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/domain_pattern.ipp>
#endif
