#pragma once

#include <ipybox/action/package_request.hpp>
#include <ipybox/async/side_threads.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/services/generated_place.hpp>
#include <ipybox/services/server_source.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ipybox::mcp {

class server_registry;

} // namespace ipybox::mcp

namespace ipybox::detail {

/**
 * \brief The packages of MCP servers that code imports. One that is offered is generated when it is needed first, once
 * for all that wait for it; and anew when it is needed after the server's list of tools has changed.
 * \details A server whose package cannot be generated delays those that need it, and no others.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class server_packages : public std::enable_shared_from_this<server_packages> {
  public:
    using made = result<codegen::generated_sources>;

    /// Called with the name of a server and its package, or why there is none.
    using listener = std::function<void(std::string const& server, made const& package)>;

    [[nodiscard]] static std::shared_ptr<server_packages> make(asio::any_io_executor const& executor,
                                                               std::shared_ptr<mcp::server_registry> servers);

    server_packages(asio::any_io_executor const& executor, std::shared_ptr<mcp::server_registry> servers);

    /// Offers the package of a server. One that was there is generated anew when it is needed.
    void offer(std::string const& server, generated_place place, listener heard);

    /// Offers the packages of servers that are not registered yet. \param approve asks before they are
    void offer(std::shared_ptr<server_source> source, server_source::approval approve, generated_place place,
               listener heard);

    /// Registers a server that a source knows. \par Errors errc::mcp_server_unknown; those of the approval
    [[nodiscard]] static asio::awaitable<result<void>> find_server(std::shared_ptr<server_packages> self,
                                                                   std::string server);

    /// The package of a server was generated there.
    void remember(std::string const& server, generated_place place);

    /// Generates what is offered and was not needed yet, in the background: a few at a time, two for each processor.
    void begin_all();

    /// Waits for the package of a server, or for all. One that could not be generated is tried again where it alone is
    /// wanted. \par Cancellation any type: what is being generated goes on
    [[nodiscard]] static asio::awaitable<package_states> ready(std::shared_ptr<server_packages> self,
                                                               package_request wanted);

  private:
    enum class state {
        offered, ///< it was not needed yet
        in_turn, ///< in the background, once others are there
        under_way,
        there,
        outdated, ///< it is there, of a list that has changed
        failed
    };

    struct entry {
        state is = state::offered;
        bool is_asked_for = false;  ///< before its server starts: not in the background
        bool is_usable = false;     ///< also where generating it anew fails
        bool has_changed = false;   ///< the list, while it is generated
        bool in_background = false; ///< it counts among those that are generated there
        std::map<std::filesystem::path, generated_place> places = {};
        listener heard = {};
        std::string why = {}; ///< there is none
    };

    static asio::awaitable<void> generate(std::shared_ptr<server_packages> self, std::string server);
    [[nodiscard]] asio::awaitable<made> make(std::string server);
    void begin(std::string const& server);
    void begin_next();
    void outdate(std::string const& server);
    void end(std::string const& server, made const& outcome);
    [[nodiscard]] bool is_of_source(std::string const& server) const;
    [[nodiscard]] asio::awaitable<result<void>> registered(std::string server);
    [[nodiscard]] bool is_under_way(std::string const& server) const;
    [[nodiscard]] package_states states(std::string const& server) const;

    asio::any_io_executor executor_;
    std::shared_ptr<mcp::server_registry> const servers_;
    std::shared_ptr<std::function<void(std::string const&)> const> on_changed_; ///< lists of tools
    std::map<std::string, entry> packages_;
    std::size_t in_background_ = 0;         ///< of them, under way
    std::shared_ptr<server_source> source_; ///< may be none
    server_source::approval approve_;
    entry of_source_;           ///< what is offered of each of its servers
    asio::steady_timer on_end_; ///< those who wait are woken by each package
    side_threads aside_;        ///< the last member: packages are written there
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/server_packages.ipp>
#endif
