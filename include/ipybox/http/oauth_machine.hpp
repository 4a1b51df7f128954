#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/challenge.hpp>
#include <ipybox/http/message.hpp>
#include <ipybox/http/oauth_grant.hpp>
#include <ipybox/http/oauth_metadata.hpp>
#include <ipybox/http/oauth_settings.hpp>
#include <ipybox/http/url.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::http {

/// A person has to sign in, and none is there. errc::mcp_unauthorized
[[nodiscard]] error sign_in_needed(oauth_settings const& settings);

/**
 * \brief Gets a token for one MCP server: OAuth 2.1 as MCP 2025-11-25 and 2026-07-28 need it, "Authorization".
 * \details No I/O. `begin` and each of the functions that take something return the next thing to do. One object is for
 * one token. Texts of errors are what a sentence about the server goes on with; they have no secrets in them.
 * \par Errors of all functions: errc::mcp_unauthorized — what the user has to do; errc::protocol_error — a server broke
 * the protocol; errc::mcp_refused — a server answered with an error
 */
class oauth_machine {
  public:
    using time_point = std::chrono::system_clock::time_point;

    /// What the caller does next.
    enum class action {
        send,          ///< sends `to_send()`; then `take_answer`
        look_up,       ///< looks for the grant of `issuer()`; then `take_grant`
        open_redirect, ///< gets ready for the redirect, at the port of `wanted_redirect()` if possible; then
                       ///< `take_redirect_uri`
        sign_in,       ///< shows `sign_in_address()` to the user and waits for the redirect; then `take_redirect`
        done           ///< keeps `grant()`, which has tokens now
    };

    /// Whether a person is there who can sign in.
    enum class mode { interactive, unattended };

    /// Why another token is needed.
    struct cause {
        bearer_challenge challenge = {}; ///< of the answer that refused the request
        std::string scope = {};          ///< asked for before, which a wider one includes
    };

    oauth_machine(oauth_settings settings, url server, mode how);

    /// The first step. \pre once
    [[nodiscard]] result<action> begin(cause why);

    /// The answer to `to_send()`. \param now for the time at which a token expires
    [[nodiscard]] result<action> take_answer(int status, std::string_view body, time_point now);

    /// The grant that was kept; none: there is none.
    [[nodiscard]] result<action> take_grant(std::optional<oauth_grant> kept, time_point now);

    /// The address to which the browser is sent back.
    [[nodiscard]] result<action> take_redirect_uri(std::string address);

    /// The query of the address that the browser was sent back to.
    [[nodiscard]] result<action> take_redirect(std::string_view query);

    [[nodiscard]] request const& to_send() const noexcept { return to_send_; }
    [[nodiscard]] std::string const& issuer() const noexcept { return grant_.issuer; }
    [[nodiscard]] std::string wanted_redirect() const;
    [[nodiscard]] std::string const& sign_in_address() const noexcept { return sign_in_address_; }
    [[nodiscard]] std::string const& state() const noexcept { return state_; }

    /// All that is known of the authorization server's side: the client from its registration on, tokens at the end. A
    /// refused refresh token is removed.
    [[nodiscard]] oauth_grant const& grant() const noexcept { return grant_; }

    /// The scope that was asked for; empty: none was named.
    [[nodiscard]] std::string const& scope() const noexcept { return scope_; }

  private:
    enum class stage { resource, server, look_up, refresh, redirect, registration, sign_in, token };

    [[nodiscard]] action get(std::string address);
    [[nodiscard]] result<action> next_address(int status);
    [[nodiscard]] result<action> take_resource(int status, std::string_view body);
    [[nodiscard]] result<action> find_server(std::string issuer);
    [[nodiscard]] result<action> take_server(int status, std::string_view body);
    [[nodiscard]] result<void> check_address(std::string_view address, std::string_view what) const;
    void choose_scope();

    [[nodiscard]] result<action> refresh();
    [[nodiscard]] result<action> begin_sign_in();
    [[nodiscard]] result<action> choose_client();
    [[nodiscard]] result<action> register_client();
    [[nodiscard]] result<action> take_registration(int status, std::string_view body);
    [[nodiscard]] result<action> ask_user();
    [[nodiscard]] result<action> ask_token(fields parameters);
    [[nodiscard]] result<action> take_token(int status, std::string_view body, time_point now);
    [[nodiscard]] client_authentication authentication() const;
    [[nodiscard]] std::string said_in(std::string_view body) const;
    [[nodiscard]] std::string quoted(std::string_view code, std::string_view description) const;

    oauth_settings const settings_;
    url const server_;
    mode const mode_;
    cause cause_;

    stage stage_ = stage::resource;
    request to_send_;
    std::vector<std::string> addresses_; ///< where a document may be
    std::size_t tried_ = 0;              ///< how many of them
    std::string resource_;               ///< the one that tokens are for
    std::vector<std::string> resource_scopes_;
    authorization_server_metadata about_;
    oauth_grant grant_;
    std::string scope_;
    std::string redirect_uri_;
    std::string state_;
    std::string verifier_;
    std::string code_;
    std::string sign_in_address_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/oauth_machine.ipp>
#endif
