#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <filesystem>
#include <string_view>

/** \file
 * The directories in which the named sessions of a workspace work: `sessions/NAME`.
 */

namespace ipybox {

/// The session of calls that name none.
inline constexpr std::string_view default_session = "default";

/// Whether a session may have this name: up to 64 ASCII letters, digits, `_` and `-`, the first of which is a letter or
/// a digit. \par Errors errc::invalid_argument
[[nodiscard]] result<void> check_session_name(std::string_view name);

/// The directory that has those of all sessions. The workspace itself is not writable for them.
[[nodiscard]] std::filesystem::path sessions_directory(std::filesystem::path const& workspace);

/// Makes it where it is missing. \par Errors errc::io_error — a link is in its place, which code may have made, or it
/// cannot be made
[[nodiscard]] result<void> make_sessions_directory(std::filesystem::path const& workspace);

/// The same for the directory of one session, which is returned. \param name as `check_session_name` accepts it
[[nodiscard]] result<std::filesystem::path> make_session_directory(std::filesystem::path const& workspace,
                                                                   std::string_view name);

/**
 * \brief The configuration for a sandbox whose working directory is that of the sessions, made of one for the
 * workspace.
 * \details Relative paths begin at the workspace as before, but for `.` in `allow_write`: what can be written is the
 * directory of the sessions. The workspace can be read, also where it lies in a directory that the sandbox makes
 * private.
 */
[[nodiscard]] sandbox_config config_for_sessions(sandbox_config of_workspace);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/session_directory.ipp>
#endif
