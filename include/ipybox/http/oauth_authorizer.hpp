#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/http/authorizer.hpp>
#include <ipybox/http/challenge.hpp>
#include <ipybox/http/client.hpp>
#include <ipybox/http/loopback_redirect.hpp>
#include <ipybox/http/oauth_grant.hpp>
#include <ipybox/http/oauth_machine.hpp>
#include <ipybox/http/oauth_settings.hpp>
#include <ipybox/http/token_store.hpp>
#include <ipybox/http/url.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::http {

/// How an `oauth_authorizer` works.
struct oauth_options {
    /**
     * \brief Shows the user the address of a page, in a browser for example, where the sign-in takes place.
     * \details The browser comes back to this machine by itself; then the coroutine is cancelled if it has not ended.
     * \return empty: the browser is waited for. Else the address that it was sent back to, which the user copied
     */
    using sign_in_function = std::function<asio::awaitable<result<std::string>>(std::string address)>;

    oauth_settings settings = {};
    std::shared_ptr<token_store> store = {}; ///< none: tokens are forgotten with the object
    sign_in_function sign_in = {};           ///< none: tokens are refreshed, and not got by a sign-in

    std::chrono::milliseconds sign_in_timeout = std::chrono::minutes(5);  ///< of the user
    std::chrono::milliseconds request_timeout = std::chrono::seconds(30); ///< of each request to a server
    std::string authorities = {}; ///< a file of certificates (PEM); empty: those of the system
};

/**
 * \brief Gets the tokens for one MCP server by OAuth 2.1: refreshes them, and has the user sign in where the
 * application wants that.
 * \details Tokens come from the store, into which another process may put them meanwhile. A sign-in that failed is not
 * tried again by `renew` for a minute. Texts of errors have no tokens or secrets in them.
 * \par Thread safety Unsafe: used on its executor.
 */
class oauth_authorizer final : public authorizer, public std::enable_shared_from_this<oauth_authorizer> {
  public:
    /// \param server the address of the MCP server \par Errors errc::invalid_argument
    [[nodiscard]] static result<std::shared_ptr<oauth_authorizer>>
    make(asio::any_io_executor const& executor, std::string const& server, oauth_options options);

    /// "Bearer TOKEN"; empty where there is no token, or one that has expired.
    [[nodiscard]] std::string credentials() const override;

    /// \copydoc authorizer::renew
    [[nodiscard]] asio::awaitable<result<void>> renew(response_head const& refusal, std::string refused) override;

    /**
     * \brief Has the user sign in, whether there are tokens or not.
     * \param challenge of an answer of the server; empty: its metadata are where they usually are
     * \par Errors as of `renew`; errc::invalid_argument — `oauth_options::sign_in` is empty
     */
    [[nodiscard]] asio::awaitable<result<void>> sign_in(bearer_challenge challenge = {});

    /// Forgets the tokens, here and in the store. \par Errors those of the store
    [[nodiscard]] result<void> forget();

  private:
    using self_ptr = std::shared_ptr<oauth_authorizer>;
    enum class reason { refusal, sign_in };

    /// A renewal that is wanted.
    struct order {
        bearer_challenge challenge;
        std::string refused;
        reason why = reason::refusal;
    };

    /// The answer to a request.
    struct answer {
        int status = 0;
        std::string body;
    };

    oauth_authorizer(asio::any_io_executor const& executor, url server, oauth_options options);

    [[nodiscard]] bool has_new(order const& wanted) const;
    [[nodiscard]] oauth_tokens const* tokens() const;
    [[nodiscard]] result<void> load();
    [[nodiscard]] result<void> keep(oauth_grant const& grant);
    [[nodiscard]] std::optional<oauth_grant> grant_of(std::string const& issuer) const;
    [[nodiscard]] std::optional<error> known_failure(order const& wanted) const;

    asio::awaitable<void> next_end();
    asio::awaitable<result<void>> do_order(std::shared_ptr<order const> wanted);
    static asio::awaitable<void> run(self_ptr self, std::shared_ptr<order const> wanted);
    asio::awaitable<result<void>> get_tokens(std::shared_ptr<order const> wanted);
    asio::awaitable<result<std::shared_ptr<void>>> claim();
    asio::awaitable<result<void>> work(std::shared_ptr<oauth_machine> machine, std::shared_ptr<order const> wanted,
                                       oauth_machine::cause why, std::shared_ptr<void>& claimed);
    asio::awaitable<result<answer>> send(request wanted);
    [[nodiscard]] result<loopback_redirect> open_redirect(oauth_machine const& machine) const;
    asio::awaitable<result<std::string>> ask_user(std::shared_ptr<loopback_redirect> redirect, std::string address,
                                                  std::string state);

    asio::any_io_executor executor_;
    url const server_;
    std::string const key_; ///< of the store
    oauth_options const options_;
    std::shared_ptr<client> client_; ///< since the first request
    std::vector<oauth_grant> grants_;
    std::string asked_; ///< the scope that was asked for
    bool has_asked_ = false;

    bool is_renewing_ = false;
    asio::steady_timer ended_;        ///< cancelled when a renewal has ended
    std::optional<error> last_error_; ///< of the last one
    std::optional<std::chrono::steady_clock::time_point> refused_sign_in_;
};

} // namespace ipybox::http

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/http/impl/oauth_authorizer.ipp>
#endif
