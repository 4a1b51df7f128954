#pragma once

#include <ipybox/mcp/server_params.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp::detail {

/// A server as a configuration file names it.
struct named_server {
    std::string name;             ///< that it is registered under
    result<server_params> params; ///< or why this entry cannot be used: the others of its file can
    std::string written = {};     ///< its name in the file
};

/// Whether generated packages can have the name: `[A-Za-z][A-Za-z0-9_]*`.
[[nodiscard]] bool is_server_name(std::string_view name) noexcept;

/// The name that is most like it: `_` for each character that cannot be. Itself, if it is a name.
[[nodiscard]] std::string nearest_server_name(std::string_view name);

/// \par Errors errc::invalid_argument — it is not such a name, and which one would be
[[nodiscard]] result<void> check_server_name(std::string_view name);

/**
 * \brief Reads a configuration file with `mcpServers` (Claude, Cursor), `servers` (VS Code), `mcp` with `servers`
 * (settings of VS Code) or `context_servers` (Zed). Comments and commas behind the last member are allowed, entries
 * that are `disabled`, or not `enabled`, left out.
 * \details An entry gets the nearest name. `${workspaceFolder}` is the directory of the file, or the one above if that
 * is `.vscode` or `.cursor`.
 * \return the servers, sorted by name
 * \par Errors errc::io_error — the file cannot be read; errc::invalid_argument — it has more than 16 MiB, or what is
 * wrong: where it is not JSON ("FILE:LINE:COLUMN"), no member with servers, a name that occurs twice or is the nearest
 * to that of two entries
 */
[[nodiscard]] result<std::vector<named_server>> read_server_file(std::filesystem::path const& file);

} // namespace ipybox::mcp::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_file.ipp>
#endif
