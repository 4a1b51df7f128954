#pragma once

#include <ipybox/action/action_host.hpp>
#include <ipybox/approval/any_approval.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/gate/approval_gate.hpp>
#include <ipybox/gate/approval_settings.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/network/network_gate.hpp>
#include <ipybox/packages/installation.hpp>
#include <ipybox/session/event_queue.hpp>
#include <ipybox/session/seen_messages.hpp>
#include <ipybox/session/server_packages.hpp>

#include <asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::mcp {

struct registry_options;
class server_registry;

} // namespace ipybox::mcp

namespace ipybox::detail {

class action_router;
class network_proxy;
class package_installation;
class tool_packages;

/// The cell on whose behalf actions are asked for.
struct acting_cell {
    std::string id;                                ///< of its execution
    std::string code = {};                         ///< its source
    std::shared_ptr<event_queue> events = nullptr; ///< where its reader is asked, if there is one and no policy

    /// Called with the number of requests that wait for a decision, whenever it changes.
    std::function<void(std::size_t)> waiting = {};

    /// Decides in the place of the session's policy.
    std::shared_ptr<any_approval const> approval = nullptr;
};

/**
 * \brief The actions of one session: lets its kernels ask, decides, and does what was approved with MCP servers and the
 * supervisor. Lets them reach hosts.
 * \details The deciding party: the approval policy; without one the reader of the stream; without that the request is
 * rejected.
 * \par Thread safety Unsafe: to be used on its executor, which must not run two handlers at once.
 */
class kernel_actions final : public action_host,
                             public network_gate,
                             public std::enable_shared_from_this<kernel_actions> {
  public:
    /// Works with the `shared` servers, or with servers of its own, whose options may be none. `seen` tells how much of
    /// what the kernel printed was shown.
    kernel_actions(asio::any_io_executor executor, any_approval policy, approval_settings settings,
                   std::shared_ptr<seen_messages> seen, std::shared_ptr<os::host_programs const> programs,
                   std::shared_ptr<mcp::server_registry> shared,
                   std::shared_ptr<mcp::registry_options const> const& servers);

    ~kernel_actions() override;

    /// Makes a channel for a kernel that is about to start; returns the kernel's end.
    [[nodiscard]] result<std::shared_ptr<os::unique_fd const>> open();

    /// The kernel runs: serves it. One that cannot be asked to run programs is told that nothing can be done for it.
    void serve(supervised_process kernel);

    /// The kernel is gone, or is to go: rejects and cancels all that it asked for.
    void close();

    /// For its grants, from any thread.
    [[nodiscard]] approval_gate& gate() noexcept { return gate_; }

    void begin_cell(acting_cell cell);
    void end_cell();

    /// Rejects what is undecided and kills its own MCP servers, for ever. From any thread, whether or not the executor
    /// runs.
    void abandon();

    /// Ends its own MCP servers, each within its own grace; shared ones go on.
    [[nodiscard]] asio::awaitable<void> stop_servers();

    /// The same at the end of the executor, for ever: those that have not ended within a second are killed.
    [[nodiscard]] asio::awaitable<void> end_servers();

    [[nodiscard]] std::shared_ptr<mcp::server_registry> const& servers() const noexcept { return servers_; }

    /// The functions of the application that code may call.
    [[nodiscard]] std::shared_ptr<tool_packages> const& tools() const noexcept { return tools_; }

    [[nodiscard]] asio::awaitable<verdict> approve(approval_subject& subject, std::uint64_t after) override;
    [[nodiscard]] asio::awaitable<result<void>> find_server(std::string server) override;
    void ended(approval_subject const& subject, action_outcome const& how) override;
    [[nodiscard]] asio::awaitable<result<mcp::call_result>>
    call(approval_subject const& subject, mcp::raw_json arguments, mcp::call_options options) override;
    [[nodiscard]] asio::awaitable<result<mcp::raw_json>> ask(std::string const& server,
                                                             mcp::server_query query) override;
    [[nodiscard]] asio::awaitable<result<std::shared_ptr<running_program>>> run(program_run const& wanted,
                                                                                program_streams streams) override;
    [[nodiscard]] asio::awaitable<package_states> packages(package_request wanted) override;

    /// The packages of servers that code may import.
    [[nodiscard]] server_packages& offered_packages() noexcept { return *packages_; }

    /// Offers the packages of servers that are registered when code needs them, and asked about then.
    void offer(std::shared_ptr<server_source> source, generated_place place, server_packages::listener heard);

    /// Installs packages where the kernel imports from, for the application: `words` are those behind `pip install`.
    [[nodiscard]] static asio::awaitable<result<installation>> install(std::shared_ptr<kernel_actions> self,
                                                                       std::vector<std::string> words);

    /// Decides about an action of the application's own, which belongs to no cell. \return its id, under which `ended`
    /// records what becomes of it
    [[nodiscard]] static asio::awaitable<result<std::uint64_t>> approve_own(std::shared_ptr<kernel_actions> self,
                                                                            approval_subject subject);

    /// Records how an action of the application's own has ended.
    void record(std::uint64_t id, action_outcome const& how) { (void)gate_.finished(id, how); }

    [[nodiscard]] asio::awaitable<verdict> approve_connection(approval_subject& subject) override;
    [[nodiscard]] verdict settle_connection(approval_subject& subject, verdict said) override;
    void connection_ended(approval_subject const& subject, action_outcome const& how) override;

  private:
    void name_asker(approval_subject& subject) const;
    static asio::awaitable<verdict> approve_server(std::shared_ptr<kernel_actions> self, approval_subject subject,
                                                   server_source::consent before);
    [[nodiscard]] asio::awaitable<verdict> decide(approval_subject& subject, any_approval policy, std::uint64_t after);
    void serve_hosts();

    using installation_ptr = std::shared_ptr<package_installation>;

    [[nodiscard]] result<installation_ptr> begin_installation(std::span<std::string const> words,
                                                              program_streams streams);
    static asio::awaitable<result<installation>>
    carry_out_installation(kernel_actions& self, std::vector<std::string> const& words, action_outcome& how);
    static asio::awaitable<result<void>> take_turn(std::shared_ptr<kernel_actions> self);
    [[nodiscard]] installation_ptr running_installation();
    void end_installations();
    void keep_installation(installation_ptr const& begun);

    asio::any_io_executor executor_;
    any_approval policy_;
    std::shared_ptr<seen_messages> seen_;
    approval_gate gate_;
    std::shared_ptr<std::function<void(std::string const&)> const> const on_server_gone_; ///< ends grants
    std::shared_ptr<os::host_programs const> const programs_;
    bool const shares_servers_;
    std::shared_ptr<mcp::server_registry> const servers_;
    std::shared_ptr<tool_packages> const tools_;
    std::shared_ptr<server_packages> const packages_;
    stated_annotations const annotations_; ///< of whichever tool an action is about
    acting_cell cell_;
    os::unique_fd channel_; ///< our end, until the kernel runs
    std::shared_ptr<action_router> router_;
    std::shared_ptr<network_proxy> proxy_; ///< of a kernel that may reach hosts
    supervised_process kernel_;

    std::mutex installations_mutex_; ///< `abandon` comes from any thread
    std::vector<std::weak_ptr<package_installation>> installations_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/kernel_actions.ipp>
#endif
