#pragma once

#include <ipybox/app/code_session_options.hpp>
#include <ipybox/app/ended_sessions.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/runtime.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

class server_registry;

} // namespace ipybox::mcp

namespace ipybox {

class code_session;

/**
 * \brief The sessions of one client by their names: each is a `code_session` whose kernel is forked from one runtime,
 * with walls between them where the sandbox has such.
 * \details A session begins with the first call that names it, in its own directory: `sessions/NAME` of the workspace,
 * which is `executor_options::working_dir`. Directories of images and of long output that lie in the workspace lie in
 * that of the session instead; others have one for each session in them. The sandbox's working directory is that of all
 * sessions
 * (`config_for_sessions` makes its configuration of one for the workspace). MCP servers and packages are shared; grants
 * are those of a session, and end with it.
 * \par Thread safety Unsafe: used on its executor, which must not run two handlers at once.
 */
class code_sessions : public std::enable_shared_from_this<code_sessions> {
  public:
    using call_ptr = std::shared_ptr<mcp::server::call>;
    using answer = asio::awaitable<mcp::call_result>;

    /// \par Errors those of reading `mcp_config`; errc::io_error — the directory of the sessions cannot be made
    [[nodiscard]] static result<std::shared_ptr<code_sessions>> make(asio::any_io_executor const& executor,
                                                                     code_session_options options);

    code_sessions(asio::any_io_executor const& executor, code_session_options options);
    ~code_sessions();

    /// Serves a call of a tool, in the session that its argument `session` names.
    [[nodiscard]] static answer serve(std::shared_ptr<code_sessions> self, call_ptr call);

    /// Ends all sessions and the servers.
    [[nodiscard]] static asio::awaitable<void> stop(std::shared_ptr<code_sessions> self);

  private:
    struct open_session;
    using session_ptr = std::shared_ptr<open_session>;
    using opened = asio::awaitable<result<std::shared_ptr<code_session>>>;

    enum class absent { is_begun, is_refused };

    static opened open(std::shared_ptr<code_sessions> self, std::string name, absent what);
    static asio::awaitable<void> end_when_idle(std::weak_ptr<code_sessions> weak, session_ptr session);
    static asio::awaitable<void> end(std::shared_ptr<code_sessions> self, session_ptr session);
    static asio::awaitable<void> replace_lost_runtime(std::shared_ptr<code_sessions> self);
    void share_server(std::string const& server, code_session const& registered_by) const;

    [[nodiscard]] session_ptr find(std::string_view name) const;
    [[nodiscard]] result<session_ptr> begin(std::string const& name);
    [[nodiscard]] result<void> check_room(std::string_view name) const;
    [[nodiscard]] error no_session(std::string const& name) const;
    [[nodiscard]] std::string names() const;
    [[nodiscard]] runtime make_runtime() const;
    [[nodiscard]] code_session_options options_in(std::filesystem::path const& directory, std::string_view name) const;
    void log(log_level level, std::string const& text) const;

    asio::any_io_executor executor_;
    code_session_options options_; ///< with the workspace and its paths
    named_sessions bounds_;
    std::shared_ptr<mcp::server_registry> servers_;
    runtime runtime_;
    std::map<std::string, session_ptr, std::less<>> open_; ///< also those that are being ended
    ended_sessions ended_;
    bool stopping_ = false;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/code_sessions.ipp>
#endif
