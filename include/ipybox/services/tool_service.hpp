#pragma once

#include <ipybox/services/approval_service.hpp>
#include <ipybox/services/server_packages.hpp>
#include <ipybox/services/tool_actions.hpp>
#include <ipybox/session/session_service.hpp>

#include <asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ipybox::detail {

class generated_places;
class session_handle;
class session_services;
class tool_packages;

/**
 * \brief The tools of one session: of MCP servers, its own or those that executors share, and of the application.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once. `parts` is safe.
 */
class tool_service final : public session_service,
                           public tool_actions,
                           public std::enable_shared_from_this<tool_service> {
  public:
    [[nodiscard]] static std::shared_ptr<tool_service> make(session_services& session);

    tool_service(session_services const& session, std::shared_ptr<approval_service> approvals);
    ~tool_service() override;

    /// The parts that any thread may use, also behind the end of the session; null once that is closed.
    struct shared_parts {
        std::shared_ptr<mcp::server_registry> servers;
        std::shared_ptr<tool_packages> functions; ///< of the application, that code may call
        std::shared_ptr<generated_places> places; ///< where packages of these were generated
    };
    [[nodiscard]] shared_parts parts() const { return {servers_, functions_, places_}; }

    /// Those of a session; nothing where it is closed.
    [[nodiscard]] static shared_parts of(session_handle const& session);

    /// The packages of servers that code may import.
    [[nodiscard]] server_packages& offered() noexcept { return *packages_; }

    /// Offers the packages of servers that are registered when code needs them, and asked about then.
    void offer(std::shared_ptr<server_source> source, generated_place place, server_packages::listener heard);

    [[nodiscard]] bool offers(feature what) const noexcept override { return what == feature::tools; }
    [[nodiscard]] std::shared_ptr<sandbox_demand const> demand() const override;
    void serve(running_kernel const& kernel) override;
    [[nodiscard]] asio::awaitable<void> stop() override;
    [[nodiscard]] asio::awaitable<void> end() override;
    void abandon() override;
    void wait_for_functions(std::chrono::milliseconds bound) override;
    [[nodiscard]] result<void> may_wait() const override;

    [[nodiscard]] asio::awaitable<result<void>> find_server(std::string server) override;
    [[nodiscard]] asio::awaitable<result<mcp::call_result>>
    call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) override;
    [[nodiscard]] asio::awaitable<result<mcp::raw_json>> ask(std::string const& server,
                                                             mcp::server_query query) override;
    [[nodiscard]] asio::awaitable<package_states> packages(package_request wanted) override;

  private:
    static asio::awaitable<verdict> approve_server(std::shared_ptr<tool_service> self, approval_subject subject,
                                                   server_source::consent before);

    std::shared_ptr<approval_service> const approvals_;
    std::shared_ptr<std::function<void(std::string const&)> const> const on_server_gone_; ///< ends grants
    bool const shares_servers_;
    std::shared_ptr<mcp::server_registry> const servers_;
    std::shared_ptr<tool_packages> const functions_;
    std::shared_ptr<generated_places> const places_;
    std::shared_ptr<server_packages> const packages_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/services/impl/tool_service.ipp>
#endif
