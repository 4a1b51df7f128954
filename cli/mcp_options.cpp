#include <ipybox/app/session_directory.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/mcp_options.hpp>
#include <cli/offered_words.hpp>
#include <cli/option_checks.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::cli {
namespace {

constexpr auto about_mcp =
    R"(Serves Python code execution to a model: an MCP server over standard input and output, for Claude, VS Code, Cursor,
llama-server and other clients. The code runs in a sandboxed IPython kernel that keeps its state. `ipybox --workspace DIR` is the
same command.)";

constexpr auto mcp_footer =
    R"(Actions are tool calls, shell commands, installations, MCP servers that the model registers, and hosts that
the code connects to. Variables KERNEL_ENV_NAME, of the environment or of DIR/.env, are NAME for the code.

Configuration of a client, which --install writes:
  {"mcpServers": {"ipybox": {"command": "ipybox", "args": ["mcp", "--workspace", "/path/to/workspace"]}}}

Exit codes:
  0  the client has ended its output        130, 143, 129  ended by SIGINT, SIGTERM, SIGHUP
  2  wrong usage or file                    1  the client reads nothing
)";

constexpr std::array<std::pair<std::string_view, log_level>, 5> level_names{{{"DEBUG", log_level::debug},
                                                                             {"INFO", log_level::info},
                                                                             {"WARNING", log_level::warning},
                                                                             {"ERROR", log_level::error},
                                                                             {"CRITICAL", log_level::critical}}};

std::string upper(std::string text) {
    for (auto& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return text;
}

std::string check_client(std::string const& name) {
    auto const known = known_clients();
    if (std::ranges::find(known, name) != known.end()) return {};
    std::string names;
    for (auto const& each : known) names.append(names.empty() ? "" : ", ").append(each);
    return "'" + name + "' is none of " + names;
}

std::string check_level(std::string const& name) {
    for (auto const& [known, level] : level_names)
        if (known == upper(name)) return {};
    return "'" + name + "' is none of DEBUG, INFO, WARNING, ERROR, CRITICAL";
}

void choose_approval(mcp_options& options, std::string const& word) {
    if (word == "ask") return void(options.approval = action_approval::ask);
    if (word == "auto") return void(options.approval = action_approval::accept);
    if (word == "deny") return void(options.approval = action_approval::deny);
    if (auto const why = why_no_rules_file(word, "ask, auto or deny"); !why.empty())
        throw CLI::ValidationError("--approve", why);
    options.rules = word;
}

/// Options of the Python package's configuration; a local port has no use here.
void add_old_options(CLI::App& mcp, mcp_options& options) {
    for (auto const* name :
         {"--tool-server-host", "--tool-server-port", "--kernel-gateway-host", "--kernel-gateway-port"})
        mcp.add_option_function<std::string>(name, [&options](std::string const&) { options.has_old_options = true; })
            ->group("");
}

/// --sessions, --session-idle
void add_session_options(CLI::App& mcp, mcp_options& options) {
    auto* const sessions = mcp.add_flag_function(
        "--sessions", [&options](std::int64_t) { options.sessions.emplace(); },
        "Several kernels, which the model names, with walls between them: each writes into a directory\n"
        "of its own, DIR/sessions/NAME, and reads the workspace. Cells of several run at the same time");
    mcp.add_option_function<double>(
           "--session-idle",
           [&options](double seconds) {
               if (!options.sessions) options.sessions.emplace();
               options.sessions->idle =
                   std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
           },
           "End a session when nothing was asked of it, and no cell of it ran, for so long (default: 3600)")
        ->type_name("S")
        ->check(check_seconds)
        ->needs(sessions);
}

/// The words of the command line that a client has to start the server with: its options, their paths absolute.
std::vector<std::string> server_words(CLI::App const& mcp) {
    static constexpr std::array<std::string_view, 4> own{"--install", "--uninstall", "--dry-run", "--help"};
    std::vector<std::string> words{"mcp"};
    for (auto const* const option : mcp.get_options([](CLI::Option const* each) { return each->count() > 0; })) {
        auto const name = option->get_name();
        if (std::ranges::find(own, name) != own.end()) continue;
        auto const kind = option->get_type_name().substr(0, option->get_type_name().find(':'));
        auto const values = option->results();
        bool const is_alone = option->get_expected_max() == 0 || values.empty() || values.front().empty();
        if (is_alone) words.push_back(name);
        for (auto const& value : values) {
            if (is_alone) break;
            std::error_code missing;
            bool const is_path = (kind == "DIR" && name != "--cgroup") || kind == "FILE" ||
                                 (kind == "PATH" && value.find('/') != value.npos) ||
                                 (name == "--approve" && std::filesystem::exists(value, missing));
            words.push_back(name);
            words.push_back(is_path ? std::filesystem::absolute(value, missing).lexically_normal().string() : value);
        }
    }
    return words;
}

/// --install, --uninstall, --dry-run
void add_setup_options(CLI::App& mcp, mcp_options& options) {
    auto const choose = [&options](client_setup::work what) {
        return [&options, what](std::string const& client) {
            if (!options.setup) options.setup.emplace();
            options.setup->client = client;
            options.setup->what = what;
        };
    };
    auto* const install = mcp.add_option_function<std::string>(
        "--install", choose(client_setup::work::install),
        "Have a client start this server, with the other options given here: claude (Code), claude-desktop,\n"
        "codex, cursor or vscode. Its configuration is changed, and kept as FILE.ipybox-backup");
    auto* const uninstall = mcp.add_option_function<std::string>(
        "--uninstall", choose(client_setup::work::uninstall), "Take the entry out of a client's configuration again");
    for (auto* const option : {install, uninstall})
        option->type_name("CLIENT")->check(offers(known_clients()))->check(check_client);
    install->excludes(uninstall);
    mcp.add_flag_callback(
        "--dry-run",
        [&options] {
            if (options.setup) options.setup->is_trial = true;
        },
        "With --install or --uninstall: tell what would be changed, and change nothing");
}

/// The workspace of a client that starts its servers in a directory of its own choice.
std::vector<std::string> with_workspace(std::vector<std::string> words) {
    if (std::ranges::find(words, "--workspace") != words.end()) return words;
    auto const* const home = std::getenv("HOME");
    if (home == nullptr || *home != '/')
        throw CLI::ValidationError("--install", "HOME does not name your home directory: name a --workspace");
    words.insert(words.begin() + 1, {"--workspace", (std::filesystem::path(home) / "ipybox-workspace").string()});
    return words;
}

/// Walls are made of what bubblewrap has.
void check_sessions(mcp_options const& options) {
    if (options.sessions && !options.cache.empty())
        throw CLI::ExcludesError("--cache and --sessions exclude each other: each session keeps its caches in "
                                 "sessions/NAME/.cache",
                                 CLI::ExitCodes::ExcludesError);
    bool const has_walls = options.sandbox == sandbox_choice::bubblewrap;
    if (!options.sessions || has_walls || options.sandbox == sandbox_choice::none) return;
    throw CLI::ValidationError("--sessions", "the sandbox " + std::string(name_of(options.sandbox)) +
                                                 " has no walls between kernels; use --sandbox bubblewrap, or start a "
                                                 "server for each workspace");
}

/// Makes the workspace, and all paths absolute: the program's directory is its client's.
void complete(mcp_options& options) {
    std::error_code failed;
    settle_working_directory(options, "--workspace");
    options.working_dir = std::filesystem::absolute(options.working_dir, failed);
    std::filesystem::create_directories(options.working_dir, failed);
    if (failed || !std::filesystem::is_directory(options.working_dir, failed))
        throw CLI::ValidationError("--workspace",
                                   options.working_dir.string() + " is no directory, and cannot be made");
    options.working_dir = std::filesystem::canonical(options.working_dir, failed);
    if (options.images_dir.empty()) options.images_dir = options.working_dir / "images";
    if (options.sessions) {
        if (auto const made = make_sessions_directory(options.working_dir); !made)
            throw CLI::ValidationError("--sessions", made.error().text());
        options.sessions_dir = sessions_directory(options.working_dir);
    }
    options.asks_for_hosts = options.sandbox != sandbox_choice::none;
    // Of the Python package it is optional.
    if (options.sandbox_config.empty() || std::filesystem::exists(options.sandbox_config, failed)) return;
    options.missing_config = std::filesystem::absolute(std::exchange(options.sandbox_config, {}), failed);
}

} // namespace

void add_mcp_command(CLI::App& program, mcp_options& options) {
    auto& mcp = *program.add_subcommand("mcp", about_mcp);
    mcp.add_option("--workspace", options.working_dir,
                   "Where the code runs and may write; made where it is missing (default: here)")
        ->type_name("DIR")
        ->check(check_given)
        ->transform(CLI::Validator(expand_directory, ""));
    add_home_option(mcp, options);
    auto const approve = std::make_shared<std::string>("ask");
    mcp.add_option("--approve", *approve,
                   "Who decides about actions: ask (the user of the client, where it shows forms; else they\n"
                   "are rejected), auto (all accepted), deny (all rejected), or a FILE of rules: what it\n"
                   "leaves open is asked")
        ->type_name("WHO")
        ->check(offers({"ask", "auto", "deny"}, other_values::files))
        ->check(check_given);
    // Of the Python package it is a flag.
    add_sandbox_options(mcp, options, missing_config::left_out)->expected(0, 1)->default_str("bubblewrap");
    add_kernel_options(mcp, options);
    mcp.get_option("--images-dir")->description("Where pictures are saved (default: images in the workspace)");
    add_server_options(mcp, options);
    add_package_options(mcp, options.packages);
    add_action_options(mcp, options);
    mcp.add_option_function<double>(
           "--wait-seconds",
           [&options](double seconds) {
               options.wait = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
           },
           "Answer a call that executes a cell after so many seconds, with the cell's id, where the call\n"
           "does not say how long; for clients that give up on long calls")
        ->type_name("S")
        ->check(check_seconds);
    mcp.add_option_function<std::string>(
           "--log-level",
           [&options](std::string const& name) {
               for (auto const& [known, level] : level_names)
                   if (known == upper(name)) options.level = level;
           },
           "DEBUG, INFO (default), WARNING, ERROR or CRITICAL: what is told on standard error")
        ->type_name("LEVEL")
        ->check(offers(names_in(level_names)))
        ->check(check_level);
    add_session_options(mcp, options);
    add_setup_options(mcp, options);
    add_old_options(mcp, options);
    mcp.footer(mcp_footer);
    mcp.callback([&mcp, &options, approve] {
        check_sandbox_options(options);
        check_sessions(options);
        choose_approval(options, *approve);
        if (options.setup) {
            // Nothing is served: the workspace is made when the client starts the server.
            options.setup->arguments = with_workspace(server_words(mcp));
            return;
        }
        if (mcp.count("--dry-run") > 0)
            throw CLI::ValidationError("--dry-run", "there is nothing to try: it goes with --install or --uninstall");
        complete(options);
    });
}

} // namespace ipybox::cli
