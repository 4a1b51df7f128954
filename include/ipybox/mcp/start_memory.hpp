#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/file_memory.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <time.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::mcp::detail {

/// A server before it is registered.
struct server_preview {
    std::filesystem::path program = {};                 ///< that its command stands for; empty: there is none
    std::string replaces = {};                          ///< the words of the server that has the name now, if another
    std::vector<std::filesystem::path> open_files = {}; ///< that it is started from, and code can change
    bool names_open_files = false;                      ///< its program or its arguments name some of them
    std::string changed = {};                           ///< a file that was approved before, and is another now
    file_memory memory = {};                            ///< to be given to `server_registry::replace`
};

/// Whether parameters start the same.
[[nodiscard]] bool are_same(server_params const& one, server_params const& other);

/// The words of a server for people: its command and arguments, or its URL, as they were written.
[[nodiscard]] std::string words_of(server_params const& server);

/**
 * \brief The files that servers of a registry were approved with, and the places where code has run since.
 * \par Thread safety Safe.
 */
class known_code {
  public:
    void add(os::code_reach const& where);
    void add(file_memory const& approved);

    /// The places that code could change at any time until now.
    [[nodiscard]] os::code_reach reach() const;

    /// A file that was approved, and is not the same any more. Empty: none.
    [[nodiscard]] std::string contradiction(file_memory const& now) const;

  private:
    mutable std::mutex mutex_;
    os::code_reach reach_;
    file_memory approved_;
};

/// Completes a preview. \param server variables have been put in
void look_at(server_preview& seen, server_params const& server, os::code_reach const& reach, known_code const& known);

/// The files that one server was approved with.
class start_memory {
  public:
    /// `approved` is none where it cannot be told yet which they are: they must not change from now on.
    start_memory(std::shared_ptr<known_code> known, std::optional<file_memory> approved);

    /// Code that reaches further is about to run: what it could change is remembered as it is.
    /// \param server none where it cannot be told which files it has
    void extend(std::optional<server_params> const& server, os::code_reach const& reach);

    /// Whether it may be started from the files that there are now. \param server variables have been put in
    /// \par Errors errc::mcp_start_failed — names a file that is another now, and that code could change; or there are
    /// too many that it could change
    [[nodiscard]] result<void> check(server_params const& server);

    /// Whether its files stayed what they were while it started. \par Errors as `check`
    [[nodiscard]] result<void> check_started(server_params const& server);

  private:
    std::shared_ptr<known_code> const known_;
    ::timespec const since_;
    std::mutex mutex_;
    std::optional<file_memory> approved_;
};

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/start_memory.ipp>
#endif
