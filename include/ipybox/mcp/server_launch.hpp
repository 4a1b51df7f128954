#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox::mcp {

/**
 * \brief The program that has to be started for a server: program found, environment and directory complete. Variables
 * have been put in before.
 * \par Errors errc::mcp_start_failed — there is no such program; errc::io_error — `env_file` cannot be read, or the
 * current directory is needed and not there any more;
 * errc::invalid_argument — it has a line that sets nothing
 */
[[nodiscard]] result<launch_spec> launch_of(server_params const& server);

/// The same as far as it can be told where the program or `env_file` is missing. The program is the server's `command`.
[[nodiscard]] launch_spec unready_launch_of(server_params const& server);

/// The variables that a server gets besides those that it inherits, as far as `env_file` can be read.
[[nodiscard]] environment added_environment_of(server_params const& server);

/// The lifeline of a sandbox, as the shell in front of it has it: at the end of the file the shell kills all of it.
inline constexpr int lifeline_fd = 3;

/**
 * \brief The same within the server's sandbox, if it has one.
 * \details The program then ends with all that runs in it, however the process in front of it ends, and when what is
 * handed to it as `lifeline_fd` is closed at the other end. `launch_spec::keeps` is to be held until then.
 * \par Errors those of `launch_of`, and of the sandbox's `wrap`: errc::sandbox_unavailable, errc::invalid_argument,
 * errc::io_error
 */
[[nodiscard]] result<launch_spec> sandboxed_launch_of(server_params const& server);

/// Reads lines NAME=VALUE; `export` before and quotes around are taken off, lines that begin with # passed over.
[[nodiscard]] result<environment> read_env_file(std::filesystem::path const& file);

/// The same for its text; `name` is the file's, for the text of errors.
[[nodiscard]] result<environment> parse_env_text(std::string const& text, std::string const& name);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_launch.ipp>
#endif
