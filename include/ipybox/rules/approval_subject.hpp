#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/tool_annotations.hpp>
#include <ipybox/rules/tool_arguments.hpp>

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

/// The action that is to be approved. Which members are filled in depends on the kind.
struct approval_subject {
    /// The kinds of actions that are to be approved.
    enum class action {
        tool,        ///< a call of an MCP tool
        shell,       ///< a shell command, `!ls`
        shell_magic, ///< a cell or line that a magic hands to an interpreter, `%%bash`
        package,     ///< the installation of Python packages
        server,      ///< the registration of an MCP server, which a model wants: code cannot register any
        network,     ///< a connection to a host that the sandbox's configuration does not name
        resource,    ///< a resource of an MCP server, or the list of those that it has
        prompt,      ///< a prompt of an MCP server, or the list of those that it has
    };

    /// The enumerator's own name, as in files and logs.
    friend std::string_view to_string(action what) noexcept;

    /// Variables that an action sets (a value) or removes (none), compared with the environment of the kernel.
    using env_difference = std::map<std::string, std::optional<std::string>>;

    /// The statements of a tool about its effects.
    using tool_annotations = detail::tool_annotations;

    std::uint64_t id = 0;                  ///< unique in this process; 0: not given yet
    action kind = action::tool;            ///< what the rest is about
    std::string server = {};               ///< name of the MCP server
    std::string tool = {};                 ///< name of the tool
    std::string uri = {};                  ///< of the resource; empty: the list is asked for
    std::string prompt = {};               ///< name of the prompt; empty: the list is asked for
    detail::tool_arguments arguments = {}; ///< what the tool is called with, or the prompt filled in with
    std::string exact_arguments =
        {}; ///< the same as JSON text, where they have numbers that `arguments` only has rounded
    detail::stated_annotations annotations =
        {};                                 ///< what the tool says about its effects; see approval_request::annotations
    std::vector<std::string> argv = {};     ///< what is executed: program and arguments
    std::filesystem::path cwd = {};         ///< where it is executed
    env_difference env = {};                ///< how its environment differs from the kernel's
    std::filesystem::path interpreter = {}; ///< the kernel's own Python, as the host knows it: `%pip` runs its modules
    std::string replaces = {};              ///< of a registration: the words of another server that has the name now
    bool open_files = false;                ///< of a registration: its program or arguments name files that code can
                                            ///< change
    bool changed_files = false;             ///< of a registration: such files are others than those approved before
    std::string notice = {};                ///< of a registration: what a person should know besides, in Markdown
    std::string input = {};                 ///< what it is given on standard input: the body of `%%bash`
    std::string host = {};                  ///< to be connected to: a name in lower case, or an IP address
    std::uint16_t port = 0;                 ///< of the host
    std::string protocol = {};              ///< how the proxy was asked: "http", "connect", "socks5"
    std::string code = {};                  ///< source of the cell that asks
    std::string cell_id = {};               ///< identifier of its execution
    bool of_application = false;            ///< the application asks, not its code: no cell, no budget
    std::optional<std::chrono::steady_clock::time_point> deadline = {}; ///< when it counts as rejected
};

namespace detail {

/// The inverse of `to_string`.
[[nodiscard]] std::optional<approval_subject::action> action_named(std::string_view name) noexcept;

/// For people: "tool call", "shell command", …
[[nodiscard]] std::string_view words_of(approval_subject::action kind) noexcept;

/// Whether both ask for the same action; the asking cell and the time do not count. Numbers are equal by value.
[[nodiscard]] bool same_action(approval_subject const& a, approval_subject const& b);

} // namespace detail

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/approval_subject.ipp>
#endif
