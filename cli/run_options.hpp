#pragma once

#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/os/system_access.hpp>

#include <cli/exit_code.hpp>
#include <cli/text_source.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ipybox::cli {

enum class sandbox_choice { bubblewrap, landlock, srt, best, none };

/// As --sandbox has it.
[[nodiscard]] std::string_view name_of(sandbox_choice choice) noexcept;

/// Who decides about actions that no rule decides about.
enum class approval_choice {
    ask,         ///< the person at the terminal
    lines,       ///< another program: it writes JSON lines to standard input
    automatic,   ///< accepted without asking
    deny,        ///< rejected without asking
    no_terminal, ///< a person would be asked, but there is no terminal: rejected
};

/// Where the code gets packages from that it has installed.
struct package_choice {
    std::filesystem::path directory;  ///< that they are installed into; empty: none are
    std::optional<std::string> index; ///< URL, or "none"
    std::vector<std::filesystem::path> wheels;
};

/// The options of `ipybox run`; see `ipybox run --help`.
struct run_options {
    text_source source;
    std::vector<std::string> arguments; ///< of the code, behind its file
    std::chrono::milliseconds end_grace = std::chrono::seconds(1);
    sandbox_choice sandbox = sandbox_choice::bubblewrap;
    std::filesystem::path sandbox_config;   ///< a file; empty: the default
    std::vector<std::string> allowed_hosts; ///< that code may reach by name, besides those of the configuration
    std::optional<std::chrono::milliseconds> timeout;
    std::filesystem::path working_dir; ///< named in any case: the kernel returns to it after each cell
    std::filesystem::path images_dir;
    std::filesystem::path spill_dir;
    std::uint64_t calls_per_cell = 10'000;
    std::filesystem::path python;
    std::string kernel; ///< a kernelspec; empty: the forked IPython kernel
    bool keep_going = false;
    bool times = false;
    bool json = false;
    bool raw_output = false;          ///< escape sequences of the code reach the terminal
    std::filesystem::path mcp_config; ///< a file of `mcpServers`; empty: none
    std::optional<std::chrono::milliseconds>
        tool_timeout;             ///< of a call and of a list of tools, in the place of what the file says
    bool require_servers = false; ///< a server that does not start ends the run
    package_choice packages;
    bool approve_shell_cmds = false;
    bool require_shell_escape = false;
    approval_choice approval = approval_choice::no_terminal;
    std::filesystem::path rules; ///< a rules file; empty: none
    std::filesystem::path audit_log;
    std::vector<system_access> allow; ///< what sandbox and guard leave open
    sandbox_limits limits;

    /// The files named here that decide about what is done: the code must not write to them.
    [[nodiscard]] std::vector<std::filesystem::path> deciding_files() const;
};

/// What `ipybox apigen` was asked for; see `ipybox apigen --help`.
struct apigen_options {
    std::string server_name;
    std::string server_params;        ///< JSON; empty: in the file
    std::filesystem::path mcp_config; ///< a file of `mcpServers`
    std::filesystem::path root_dir;
    bool async = false;
    bool check = false;
};

/// Reads the command line. The program ends at once with an exit_code: help was asked for and printed, or an error was explained.
[[nodiscard]] std::variant<run_options, apigen_options, exit_code> read_command_line(int argc, char const* const* argv);

} // namespace ipybox::cli
