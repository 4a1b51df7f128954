#pragma once

#include <cli/box_options.hpp>
#include <cli/exit_code.hpp>
#include <cli/mcp_options.hpp>
#include <cli/text_source.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ipybox::cli {

/// Who decides about actions that no rule decides about.
enum class approval_choice {
    ask,         ///< the person at the terminal
    lines,       ///< another program: it writes JSON lines to standard input
    automatic,   ///< accepted without asking
    deny,        ///< rejected without asking
    no_terminal, ///< a person would be asked, but there is no terminal: rejected
};

/// The options of `ipybox run`; see `ipybox run --help`.
struct run_options : box_options {
    text_source source;
    std::vector<std::string> arguments; ///< of the code, behind its file
    std::chrono::milliseconds end_grace = std::chrono::seconds(10);
    std::optional<std::chrono::milliseconds> timeout;
    std::filesystem::path spill_dir;
    std::uint64_t calls_per_cell = usual_calls_per_cell;
    std::string kernel; ///< a kernelspec; empty: the forked IPython kernel
    bool keep_going = false;
    bool times = false;
    bool json = false;
    bool raw_output = false;      ///< escape sequences of the code reach the terminal
    bool require_servers = false; ///< a server that does not start ends the run
    bool approve_shell_cmds = false;
    approval_choice approval = approval_choice::no_terminal;

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

/// The options of `ipybox doctor`; see `ipybox doctor --help`.
struct doctor_options {
    sandbox_choice sandbox = sandbox_choice::bubblewrap;
    std::filesystem::path python;
    std::filesystem::path working_dir;
    bool json = false;
};

/// Reads the command line. The program ends at once with an exit_code: help, a version, a completion script was asked
/// for and printed, or an error was explained.
[[nodiscard]] std::variant<run_options, apigen_options, mcp_options, doctor_options, exit_code>
read_command_line(int argc, char const* const* argv);

} // namespace ipybox::cli
