#pragma once

#include <ipybox/mcp/server_timeouts.hpp>
#include <ipybox/os/sandbox_limits.hpp>
#include <ipybox/os/system_access.hpp>

#include <cli/working_directory.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace ipybox::cli {

/// How many actions a cell may ask for where no option says it; more are rejected without a question.
inline constexpr std::uint64_t usual_calls_per_cell = 10'000;

enum class sandbox_choice { bubblewrap, landlock, srt, best, none };

/// As --sandbox has it.
[[nodiscard]] std::string_view name_of(sandbox_choice choice) noexcept;

/// The source of the packages that code installs.
struct package_choice {
    std::filesystem::path directory;  ///< that they are installed into; empty: none are
    std::optional<std::string> index; ///< URL, or "none"
    std::vector<std::filesystem::path> wheels;
};

/// The way to hosts, of the code and of pip.
struct network_choice {
    std::vector<std::string> addresses; ///< ranges that are not public, and that hosts may lead to all the same
    std::string proxy;                  ///< URL, or "env": what the environment says; empty: none
    std::filesystem::path certificates; ///< of authorities, in PEM format; empty: those of the system
};

/// The options that `ipybox run` and `ipybox mcp` share: the kernel, its sandbox, and the actions of its code.
struct box_options {
    sandbox_choice sandbox = sandbox_choice::bubblewrap;
    std::filesystem::path sandbox_config;   ///< a file; empty: the default
    std::vector<std::string> allowed_hosts; ///< that code may reach by name, besides those of the configuration
    network_choice network;
    bool asks_for_hosts = false;      ///< hosts that are named nowhere are asked for, where there is no configuration
    std::vector<system_access> allow; ///< what sandbox and guard leave open
    sandbox_limits limits;
    std::filesystem::path working_dir;             ///< named in any case: the kernel returns to it after each cell
    home_directory home = home_directory::refused; ///< whether it may be that one
    std::string notice_of_directory;               ///< why it is another one than was to be expected; empty: it is not
    std::filesystem::path sessions_dir; ///< of named sessions, within working_dir: where they write; empty: one kernel
    std::filesystem::path images_dir;
    std::filesystem::path python;
    std::filesystem::path cache;          ///< of libraries of the code; empty: a private one
    std::filesystem::path mcp_config;     ///< a file of `mcpServers`; empty: none
    mcp::server_timeouts server_timeouts; ///< in the place of what the file says
    bool require_shell_escape = false;
    package_choice packages;
    std::filesystem::path rules; ///< a rules file; empty: none
    std::filesystem::path audit_log;

    /// The files named here that decide about what is done: the code must not write to them.
    [[nodiscard]] std::vector<std::filesystem::path> deciding_files() const;
};

/// Those of `files` that exist, by their absolute paths.
[[nodiscard]] std::vector<std::filesystem::path> existing(std::vector<std::filesystem::path> const& files);

CLI::Option* add_sandbox_option(CLI::App& command, sandbox_choice& sandbox);
void add_python_option(CLI::App& command, std::filesystem::path& python);
void add_working_dir_option(CLI::App& command, std::filesystem::path& working_dir);

/// The treatment of a --sandbox-config that does not exist.
enum class missing_config { refused, left_out };

/// --sandbox and what belongs to it. \return --sandbox itself
CLI::Option* add_sandbox_options(CLI::App& command, box_options& options,
                                 missing_config missing = missing_config::refused);

/// --python, --images-dir, --cache
void add_kernel_options(CLI::App& command, box_options& options);

/// --mcp-config, --tool-timeout, --connect-timeout
void add_server_options(CLI::App& command, box_options& options);

/// --packages, --package-index, --package-wheels
void add_package_options(CLI::App& command, package_choice& packages);

/// --require-shell-escape, --audit-log
void add_action_options(CLI::App& command, box_options& options);

/// --allow-home
void add_home_option(CLI::App& command, box_options& options);

/// The directory that code works in becomes one that it may write to: see `choose_working_directory`.
/// \param option that names it
void settle_working_directory(box_options& options, std::string const& option);

/// Throws CLI::Error where options exclude each other.
void check_sandbox_options(box_options const& options);

/// Why a word behind --approve that is none of the `others` names no file of rules either; empty: it names one.
[[nodiscard]] std::string why_no_rules_file(std::string const& word, std::string_view others);

} // namespace ipybox::cli
