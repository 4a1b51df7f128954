#pragma once

#include <ipybox/approval/tool_arguments.hpp>
#include <ipybox/core/config.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/// What kind of action is to be approved.
enum class approval_kind {
    tool,        ///< a call of an MCP tool
    shell,       ///< a shell command, `!ls`
    shell_magic, ///< a cell or line that a magic hands to an interpreter, `%%bash`
    package,     ///< the installation of Python packages
    server,      ///< the registration of an MCP server; reserved: the host registers servers, code cannot
    network,     ///< a connection to a host that the sandbox's configuration does not name
};

/// For people: "tool call", "shell command", …
[[nodiscard]] std::string_view to_string(approval_kind kind) noexcept;

/// For programs: the enumerator's own name, as in files and logs.
[[nodiscard]] std::string_view name_of(approval_kind kind) noexcept;

/// The inverse of `name_of`.
[[nodiscard]] std::optional<approval_kind> approval_kind_named(std::string_view name) noexcept;

/// Variables that an action sets (a value) or removes (none), compared with the environment of the kernel.
using environment_difference = std::map<std::string, std::optional<std::string>>;

/// What is to be approved. Which members are filled in depends on the kind.
struct approval_subject {
    std::uint64_t id = 0;                     ///< unique in this process; 0: not given yet
    approval_kind kind = approval_kind::tool; ///< what the rest is about
    std::string server = {};                  ///< name of the MCP server
    std::string tool = {};                    ///< name of the tool
    tool_arguments arguments = {};            ///< what the tool is called with
    std::string exact_arguments =
        {}; ///< the same as JSON text, if they have integers beyond 64 bits, which `arguments` only has rounded
    std::vector<std::string> argv = {};     ///< what is executed: program and arguments
    std::filesystem::path cwd = {};         ///< where it is executed
    environment_difference env = {};        ///< how its environment differs from the kernel's
    std::filesystem::path interpreter = {}; ///< the kernel's own Python, as the host knows it: `%pip` runs its modules
    std::string input = {};                 ///< what it is given on standard input: the body of `%%bash`
    std::string host = {};                  ///< to be connected to: a name in lower case, or an IP address
    std::uint16_t port = 0;                 ///< of the host
    std::string protocol = {};              ///< how the proxy was asked: "http", "connect", "socks5"
    std::string code = {};                  ///< source of the cell that asks
    std::string cell_id = {};               ///< identifier of its execution
    std::optional<std::chrono::steady_clock::time_point> deadline = {}; ///< when it counts as rejected
};

/// True where both ask for the same to be done, whoever asks, when, and from which cell. Numbers are equal by value.
[[nodiscard]] bool same_action(approval_subject const& a, approval_subject const& b);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/approval_subject.ipp>
#endif
