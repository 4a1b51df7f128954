#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/http/oauth_grant.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace ipybox::http {

/**
 * \brief Keeps what authorization servers gave for MCP servers: an application may keep it in a keyring.
 * \details A server is named by its address. `write_grants` makes one text of all grants of a server.
 * \par Thread safety Implementations are safe; several processes may use one place.
 */
class token_store {
  public:
    token_store() = default;
    token_store(token_store const&) = delete;
    token_store& operator=(token_store const&) = delete;
    virtual ~token_store() = default;

    /// The grants of a server, the one that was saved last first; empty: there are none. \par Errors none of the texts
    /// has a secret in it
    [[nodiscard]] virtual result<std::vector<oauth_grant>> load(std::string const& server) = 0;

    /// Keeps a grant in the place of the one that the same issuer gave before.
    [[nodiscard]] virtual result<void> save(std::string const& server, oauth_grant const& grant) = 0;

    /// Forgets all grants of a server.
    [[nodiscard]] virtual result<void> remove(std::string const& server) = 0;

    /**
     * \brief Claims the renewal of the tokens of a server, for as long as the value lives; does not wait.
     * \details A refresh token may be used once: two processes must not use it at the same time.
     * \return nullptr: another process or object has the claim
     */
    [[nodiscard]] virtual result<std::shared_ptr<void>> try_lock(std::string const& server) {
        return std::make_shared<std::string>(server);
    }
};

/// Puts a grant before the others, in the place of the one of the same issuer.
inline void put_first(std::vector<oauth_grant>& grants, oauth_grant const& grant) {
    std::erase_if(grants, [&grant](oauth_grant const& each) { return each.issuer == grant.issuer; });
    grants.insert(grants.begin(), grant);
}

} // namespace ipybox::http
