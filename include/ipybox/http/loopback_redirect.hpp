#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ipybox::http {

/**
 * \brief Waits on 127.0.0.1 for the browser that an authorization server sends back: RFC 8252 section 7.3.
 * \details It listens from `open` on. Requests for other paths, with another `Host` or with another state are refused
 * and do not end the wait, so that other programs and pages cannot disturb a sign-in. Heads of requests are bounded,
 * and so are the connections at one time and the time of each.
 * \par Thread safety Unsafe: used on its executor.
 */
class loopback_redirect {
  public:
    /// \param port 0: any that is free \par Errors errc::io_error — the port is taken, for example
    [[nodiscard]] static result<loopback_redirect> open(asio::any_io_executor const& executor, std::uint16_t port = 0);

    loopback_redirect(loopback_redirect&&) noexcept = default;
    loopback_redirect& operator=(loopback_redirect&&) = delete;
    ~loopback_redirect();

    /// The address that the browser is to be sent to: "http://127.0.0.1:PORT/callback".
    [[nodiscard]] std::string address() const;

    /**
     * \brief Waits for the redirect with that state, and shows the user a page. The listener is closed afterwards.
     * \return the query of the address, without its question mark
     * \pre once
     * \par Errors errc::timed_out — it did not come within the bound; errc::cancelled
     */
    [[nodiscard]] asio::awaitable<result<std::string>> wait(std::string state, std::chrono::milliseconds bound);

  private:
    struct listener;

    explicit loopback_redirect(std::shared_ptr<listener> open) : listener_(std::move(open)) {}

    std::shared_ptr<listener> listener_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/loopback_redirect.ipp>
#endif
