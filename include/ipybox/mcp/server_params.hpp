#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief How a server is started or reached, and how long one waits for it.
 * \details With a `command` it is a child process that talks over its standard streams, else it is reached over HTTP
 * at its `url`.
 * \details Texts may name variables of the host, `${NAME}`, `${NAME:-default}` or `${env:NAME}`, and what editors know:
 * `${userHome}`, `${workspaceFolder}`,
 * `${workspaceFolderBasename}`, `${pathSeparator}`, `${/}`. `command`, `args`, `env_file` and `working_dir` may begin
 * with `~/`, the home directory. They are put in when the server starts, and nowhere else.
 * The parameters are the host's: nothing that runs in a kernel gets to see or to choose them.
 */
struct server_params {
    /// The part of the host's environment that a server process gets.
    enum class inherited {
        essential, ///< HOME, LOGNAME, PATH, SHELL, TERM, USER: what the protocol's own libraries pass on
        all
    };

    /// How the version of the protocol is agreed on: 2024-11-05 to 2025-11-25 have a handshake, `initialize`; since
    /// 2026-07-28 the protocol is stateless, and `server/discover` tells the versions.
    enum class negotiation {
        initialize_first, ///< what every server with a handshake, and every one of both, understands; others refuse it
                          ///< and are asked anew
        discover_first,   ///< what the protocol recommends since 2026-07-28; servers of before may stay silent, or end
        handshake_only,   ///< `initialize`, and nothing else
        stateless_only    ///< `server/discover`, and nothing else
    };

    /// How messages go to a server that is reached over HTTP.
    enum class transport {
        by_address,      ///< Streamable HTTP, and HTTP+SSE where the server does not understand it or `url` has `/sse`
        streamable_http, ///< of 2025-03-26 and later
        sse              ///< HTTP+SSE, of 2024-11-05
    };

    std::string command = {};                 ///< a path, or a name that is looked up on the PATH the server gets
    std::vector<std::string> args = {};       ///< of the program
    environment env = {};                     ///< over what is inherited and what stands in `env_file`
    std::string env_file = {};                ///< lines NAME=VALUE; relative to `working_dir`
    std::string working_dir = {};             ///< the host's, if empty
    inherited inherit = inherited::essential; ///< what it gets of the host's environment
    std::optional<any_sandbox> sandbox = {};  ///< of the process. Without one it has the rights of the application

    std::string url = {};                            ///< the address of a server that is reached over HTTP
    std::map<std::string, std::string> headers = {}; ///< of each request to it
    transport reached_by = transport::by_address;    ///< what is spoken over HTTP
    std::string authorities = {};                    ///< a file of certificates (PEM); empty: those of the system

    negotiation versions = negotiation::initialize_first; ///< how a version is agreed on
    std::chrono::milliseconds connect_timeout =
        std::chrono::seconds(30); ///< from the start until a version is agreed on
    std::optional<std::chrono::milliseconds> call_timeout = std::chrono::minutes(
        10); ///< of calls that name none, the start of the server included; none: no bound but cancellation
    std::chrono::milliseconds list_timeout = std::chrono::seconds(
        60); ///< of a list of tools that is asked for without one, all of its pages and the start included
    std::chrono::milliseconds stop_grace = std::chrono::seconds(2); ///< between two steps of ending it
    std::filesystem::path project = {};                             ///< `${workspaceFolder}`, absolute

    /// The environment of the host and its programs: set by the registry when the server starts. None: as they are
    /// then.
    std::shared_ptr<os::host_programs const> host = {};

    /// Whether it is reached over HTTP.
    [[nodiscard]] bool is_remote() const noexcept { return command.empty() && !url.empty(); }

    /**
     * \brief Reads one entry of an `mcpServers` object, as Claude, Cursor and VS Code write them.
     * \details `command`, `args`, `env`, `envFile`, `cwd`, `sandbox` (a `sandbox_config`, for bubblewrap_sandbox;
     * `true` is the default one); `url` (also `httpUrl`, `serverUrl`), `headers`, `type` (`http`, `sse`, and what
     * editors call the two), `ca_file`; `timeout`, the bound of a call and of a list of tools; `connect_timeout` (in
     * Codex `startup_timeout_sec`), that of the start, in seconds; `negotiation`, by the names of its enumerators.
     * Members that are of no use here are passed over. Editors do not agree on the unit of `timeout`: up to 3600 it is
     * seconds (Cline, Roo), above milliseconds (Gemini CLI, Claude Code).
     * \par Errors errc::invalid_argument — which member is not what it should be; no value is quoted
     */
    [[nodiscard]] static result<server_params> read(nlohmann::json const& entry);
};

namespace detail {

/// Sets those that are given. A list of tools, whose bound includes the start, is given no less time than that.
void set_timeouts(server_params& params, server_timeouts const& given);

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server_params.ipp>
#endif
