#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/file_memory.hpp>
#include <ipybox/os/host_environment.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace ipybox {

/// A server that a model has registered.
struct kept_server {
    nlohmann::ordered_json entry = {};   ///< as it was approved: variables have not been put in
    bool always = false;                 ///< it was approved for always, while its files are these
    mcp::detail::file_memory files = {}; ///< that it is started from, and that code can change
};

/**
 * \brief The servers that models have registered in a workspace, for later runs of the program: a file for each
 * workspace, where no code gets to.
 * \par Thread safety Unsafe. Other processes may have the same workspace: what each keeps last counts.
 */
class kept_servers {
  public:
    /// The most servers of one workspace, and bytes of its file.
    static constexpr std::size_t most = 100;
    static constexpr std::size_t largest_file = std::size_t{64} << 20;

    /// `ipybox/servers` in XDG_STATE_HOME, or in `~/.local/state`; empty where neither is absolute.
    [[nodiscard]] static std::filesystem::path directory(os::host_environment const& host);

    /// Makes the directory where it is missing, for its owner alone, and reads the file of a workspace.
    /// \par Errors errc::io_error, message_too_large, invalid_argument — the file cannot be read, or is not ours
    [[nodiscard]] static result<kept_servers> open(std::filesystem::path const& directory,
                                                   std::filesystem::path const& workspace);

    [[nodiscard]] std::map<std::string, kept_server> const& all() const noexcept { return servers_; }

    /// Keeps a server, in the place of one of the same name. \par Errors errc::io_error; errc::invalid_argument — there
    /// are too many
    [[nodiscard]] result<void> keep(std::string const& name, kept_server server);

    /// Where they are kept.
    [[nodiscard]] std::filesystem::path const& file() const noexcept { return file_; }

  private:
    kept_servers(std::filesystem::path file, std::string workspace)
        : file_(std::move(file)), workspace_(std::move(workspace)) {}

    [[nodiscard]] result<void> read();
    [[nodiscard]] result<void> write() const;

    std::filesystem::path file_;
    std::string workspace_;
    std::map<std::string, kept_server> servers_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/kept_servers.ipp>
#endif
