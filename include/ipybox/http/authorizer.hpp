#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/http/message.hpp>

#include <asio/awaitable.hpp>

#include <string>

namespace ipybox::http {

/**
 * \brief Gets the tokens for the requests to one server.
 * \par Thread safety Unsafe: used on the executor of the channel to that server.
 */
class authorizer {
  public:
    authorizer() = default;
    authorizer(authorizer const&) = delete;
    authorizer& operator=(authorizer const&) = delete;
    virtual ~authorizer() = default;

    /// The value of `Authorization` for a request now; empty: none is known.
    [[nodiscard]] virtual std::string credentials() const = 0;

    /**
     * \brief The server refused a request, with 401 or for want of a scope: gets other credentials.
     * \details Several requests may be refused at once: they wait for the same ones.
     * \param refused the credentials of that request
     * \par Errors errc::mcp_unauthorized — what the user has to do
     */
    [[nodiscard]] virtual asio::awaitable<result<void>> renew(response_head const& refusal, std::string refused) = 0;
};

} // namespace ipybox::http
