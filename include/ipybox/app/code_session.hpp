#pragma once

#include <ipybox/app/code_session_options.hpp>
#include <ipybox/app/host_turns.hpp>
#include <ipybox/app/kept_cells.hpp>
#include <ipybox/app/session_notes.hpp>
#include <ipybox/approval/approval_request.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/mcp/call_result.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

struct server_registration;

} // namespace ipybox::detail

namespace ipybox {

/// One of several sessions of a client: what it has in common with the others.
struct named_session {
    std::string name;
    std::filesystem::path workspace; ///< where MCP servers start
    runtime shared;                  ///< its kernel is forked from
    std::vector<std::string> notes;  ///< to be told with the first answer
};

/**
 * \brief The work of the tools of `code_tools`: one kernel, its cells, and the approvals of their actions.
 * \details The kernel starts in the background with the first call of a tool. The packages of configured MCP servers
 * are generated when code needs them, and in the background behind the first call. An action that has to be approved is
 * put to the user of a call that attends to its cell; a cell without such a call waits until there is one.
 * \par Thread safety Unsafe: used on its executor, which must not run two handlers at once.
 */
class code_session : public std::enable_shared_from_this<code_session> {
  public:
    using call_ptr = std::shared_ptr<mcp::server::call>;
    using answer = asio::awaitable<mcp::call_result>;

    /// \par Errors those of reading `mcp_config`
    [[nodiscard]] static result<std::shared_ptr<code_session>> make(asio::any_io_executor const& executor,
                                                                    code_session_options options);

    /// \param named  of several: their MCP servers are those of `executor_options::mcp.registry`, which has them
    /// already
    code_session(asio::any_io_executor const& executor, code_session_options options,
                 std::optional<named_session> named = {});
    ~code_session();

    /// Serves a call of a tool. A call that is cancelled ends at once; that of `execute_ipython_cell` ends its cell,
    /// whose output is kept.
    [[nodiscard]] static answer serve(std::shared_ptr<code_session> self, call_ptr call);

    /// Offers the package of a server that another session has registered.
    void offer_package(std::string const& server);

    /// Since when no call is served and no cell runs or waits; none while one does.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> idle_since() const noexcept;

    /// Whether the runtime that its kernel is forked from has ended by itself: no kernel can be started.
    [[nodiscard]] bool has_lost_runtime() const noexcept { return has_lost_runtime_; }

    /// Ends the kernel, and the servers that it does not share.
    [[nodiscard]] static asio::awaitable<void> stop(std::shared_ptr<code_session> self);

  private:
    using clock = std::chrono::steady_clock;
    class use;

    static answer execute(std::shared_ptr<code_session> self, call_ptr call);
    static answer wait_for_cell(std::shared_ptr<code_session> self, call_ptr call);
    static answer interrupt_cell(std::shared_ptr<code_session> self, call_ptr call);
    static answer reset(std::shared_ptr<code_session> self, call_ptr call);
    static answer install_package(std::shared_ptr<code_session> self, call_ptr call);
    static answer register_mcp_server(std::shared_ptr<code_session> self, call_ptr call);
    static asio::awaitable<result<codegen::generated_sources>> add_server(std::shared_ptr<code_session> self,
                                                                          detail::server_registration const& wanted);
    mcp::call_result cell_output(mcp::server::call const& call);

    static asio::awaitable<void> watch(std::weak_ptr<code_session> weak, std::shared_ptr<kept_cell> cell);

    std::shared_ptr<kept_cell> submit(mcp::server::call const& call);
    mcp::call_result answer_of(kept_cell const& cell, mcp::server::call const& call);
    static answer serve_tool(std::shared_ptr<code_session> self, call_ptr call);

    [[nodiscard]] executor make_box();
    [[nodiscard]] std::string const& name() const noexcept;
    [[nodiscard]] any_approval policy_for(action_approval approval);
    void on_request(approval_request request);

    void begin();
    void offer_all();
    void offer(std::vector<std::string> const& servers);
    [[nodiscard]] executor::package_listener hearing();
    [[nodiscard]] std::filesystem::path const& workspace() const noexcept;
    void note_loss(error const& why);
    void tell_missing(std::string const& server, error const& why);
    void log(log_level level, std::string_view text) const;
    [[nodiscard]] mcp::call_result failed_server(error const& why) const;

    asio::any_io_executor executor_;
    code_session_options options_;
    std::optional<named_session> named_;                                           ///< none: the only one
    std::shared_ptr<bool const> const alive_ = std::make_shared<bool const>(true); ///< what comes late has a weak one
    executor box_;
    kept_cells cells_;

    bool has_begun_ = false;
    bool has_answered_ = false;

    host_turns turns_; ///< of calls whose action belongs to no cell

    std::vector<std::string> servers_; ///< whose packages are offered at the beginning
    session_notes notes_;

    std::size_t calls_ = 0;      ///< that are served
    std::size_t open_cells_ = 0; ///< that run or wait
    clock::time_point used_ = clock::now();
    bool has_lost_runtime_ = false;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/code_session.ipp>
#endif
