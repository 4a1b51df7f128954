#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <string>
#include <string_view>

namespace ipybox::http {

/**
 * \brief The address of something on the web: RFC 3986, with the scheme `http` or `https`.
 * \details Dot segments are removed, and scheme and host are in lower case.
 */
class url {
  public:
    /// Reads an absolute address. \par Errors errc::invalid_argument; the address is not quoted, for it may have a
    /// secret in it
    [[nodiscard]] static result<url> parse(std::string_view text);

    /// The address that a reference stands for here, be it absolute or relative. \par Errors as of `parse`
    [[nodiscard]] result<url> resolve(std::string_view reference) const;

    /// All of it.
    [[nodiscard]] std::string const& text() const noexcept { return text_; }

    /// `http` or `https`.
    [[nodiscard]] std::string const& scheme() const noexcept { return scheme_; }

    /// A name, or an address without brackets.
    [[nodiscard]] std::string const& host() const noexcept { return host_; }

    [[nodiscard]] std::string const& port() const noexcept { return port_; }

    /// Begins with a slash.
    [[nodiscard]] std::string const& path() const noexcept { return path_; }

    /// Scheme, host and port: RFC 6454. A port that the scheme implies is left out.
    [[nodiscard]] std::string origin() const;

    /// Without the user, the password, the query and the fragment: for errors and logs.
    [[nodiscard]] std::string public_text() const { return origin() + path_; }

    /// Whether it is on this machine: `localhost`, 127.0.0.0/8 or ::1.
    [[nodiscard]] bool is_loopback() const;

    friend bool operator==(url const& a, url const& b) { return a.text_ == b.text_; }

  private:
    url() = default;

    std::string text_;
    std::string scheme_;
    std::string host_;
    std::string port_;
    std::string path_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/url.ipp>
#endif
