#include <ipybox/sandbox/domain_pattern.hpp>
#include <ipybox/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/limit.hpp>
#include <cli/option_checks.hpp>
#include <cli/run_options.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ipybox::cli {
namespace {

constexpr auto about_run = R"(Runs Python code in a sandboxed IPython kernel. Output appears as it comes.

FILE is cut into cells at lines that begin with `# %%`; what follows on such a line is the cell's title,
and `# %% [markdown]` cells are skipped. All cells run in one session, one after the other; the first one
that fails ends the run, and sys.exit(N) or exit(N) ends it with N. Of a notebook (FILE.ipynb) the code cells are
run. `-` reads standard input.)";

constexpr auto run_footer = R"(Exit codes:
  N  of sys.exit(N)
  0  all cells ran            1  a cell raised an exception, or its kernel died
  2  wrong usage or file    124  a cell took longer than --timeout
  3  no kernel, sandbox     130  interrupted by Ctrl-C (twice: at once)
     or tool server

Actions are tool calls, installations (%pip) and, with --approve-shell-cmds, shell commands.

Examples:
  ipybox run analysis.py
  ipybox run -c 'import sys; sys.version'
  ipybox run notebook.ipynb --times --timeout 60
  echo 'print(1 + 1)' | ipybox run - --json
  ipybox run script.sh --kernel bash --sandbox none
  ipybox run analysis.py --sandbox-config sandbox.json
  ipybox run agent.py --mcp-config mcp.json --audit-log /var/log/agent.jsonl
  ipybox run agent.py --mcp-config mcp.json --approve rules.json
)";

constexpr auto apigen_footer = R"(Exit codes:
  0  written; with --check: nothing has changed    2  wrong usage or file
  1  with --check: something has changed,          3  the server cannot be started
     else: the package cannot be written

Examples:
  ipybox apigen --server-name github --mcp-config mcp.json --root-dir mcptools
  ipybox apigen --server-name fetch --server-params '{"command": "uvx", "args": ["mcp-server-fetch"]}' \
      --root-dir mcptools --async
)";

constexpr std::array<std::pair<std::string_view, sandbox_choice>, 5> sandbox_names{
    {{"bubblewrap", sandbox_choice::bubblewrap},
     {"landlock", sandbox_choice::landlock},
     {"srt", sandbox_choice::srt},
     {"best", sandbox_choice::best},
     {"none", sandbox_choice::none}}};

std::string check_sandbox(std::string const& name) {
    for (auto const& [known, choice] : sandbox_names)
        if (known == name) return {};
    return "'" + name + "' is none of bubblewrap, landlock, srt, best, none";
}

std::string check_access(std::string const& name) {
    if (system_access_of(name)) return {};
    std::string known;
    for (auto const& [access, its_name] : detail::system_access_names)
        known.append(known.empty() ? "" : ", ").append(its_name);
    return "'" + name + "' is none of " + known;
}

std::string check_host(std::string const& pattern) {
    auto const read = domain_pattern::parse(pattern);
    return read ? std::string() : read.error().text();
}

std::string check_limit(std::string const& text) {
    sandbox_limits ignored;
    auto const set = set_limit(ignored, text);
    return set ? std::string() : set.error().text();
}

/// Where an argument that the program does not know may have been meant for the code: how the code gets it.
std::string advice_for_arguments(CLI::App const& command, CLI::Error const& error) {
    bool const unknown = dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr;
    if (!unknown || command.get_name() != "run" || command.count("FILE") == 0) return {};
    return "; to pass it to the code: ipybox run FILE -- ARG";
}

/// The message about a wrong call of the program.
std::string complaint(CLI::App const* program, CLI::Error const& error) {
    std::string what = error.what();
    auto const commands = program->get_subcommands();
    if (commands.empty()) {
        auto const strangers = program->remaining();
        what = strangers.empty() ? "a command is missing" : "'" + strangers.front() + "' is no command";
        what += ". To run a file: ipybox run FILE";
    } else {
        what += advice_for_arguments(*commands.front(), error);
    }
    auto const command = commands.empty() ? "run" : commands.front()->get_name();
    return "ipybox: " + what + "\n`ipybox " + command + " --help` tells more.\n";
}

/// What stands behind --approve, --yes and --deny.
struct approval_words {
    std::optional<std::string> mode; ///< ask, auto, deny, stdin, or a rules file
    bool yes = false;
    bool deny = false;
};

void add_package_options(CLI::App& run, package_choice& packages) {
    run.add_option("--packages", packages.directory,
                   "Install packages (%pip install) into this directory, from which the code\n"
                   "imports and to which it cannot write; pip runs outside of its sandbox")
        ->type_name("DIR")
        ->check(check_given);
    run.add_option("--package-index", packages.index,
                   "URL of the index that pip asks (default: PyPI), or none; needs --packages")
        ->type_name("URL")
        ->check(check_given)
        ->needs("--packages");
    run.add_option("--package-wheels", packages.wheels,
                   "A directory with wheels for pip; may be given more than once; needs --packages")
        ->type_name("DIR")
        ->allow_extra_args(false)
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""))
        ->needs("--packages");
}

void add_action_options(CLI::App& run, run_options& options, approval_words& approval) {
    run.add_option("--mcp-config", options.mcp_config,
                   "Servers whose tools the code may call: their Python APIs are generated into mcptools/")
        ->type_name("FILE")
        ->check(check_given)
        ->check(CLI::Validator(CLI::ExistingFile).description(""));
    auto const set_tool_timeout = [&options](double const& seconds) {
        options.tool_timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
    };
    run.add_option_function<double>(
           "--tool-timeout", set_tool_timeout,
           "Seconds that a tool call, or a server that is asked for its tools, may take; else\n"
           "the `timeout` of its entry, or 600 and 60")
        ->type_name("S")
        ->check(check_seconds);
    run.add_flag("--require-servers", options.require_servers,
                 "End before the first cell where a server does not start");
    run.add_flag("--approve-shell-cmds", options.approve_shell_cmds, "Ask before shell commands, too (!ls, %%bash)");
    run.add_flag("--require-shell-escape", options.require_shell_escape,
                 "Let the code start programs by shell commands alone: every other way is closed");
    run.add_option("--approve", approval.mode,
                   "Who decides about actions: ask (at the terminal; the default where there is one),\n"
                   "auto (all accepted), deny (all rejected; the default without a terminal), stdin (JSON\n"
                   "lines), or a FILE of rules: what it leaves open is asked, or denied, as by default")
        ->type_name("WHO")
        ->check(check_given);
    run.add_flag("--yes", approval.yes, "As --approve auto");
    run.add_flag("--deny", approval.deny, "As --approve deny");
    run.add_option("--audit-log", options.audit_log,
                   "Append every request, decision and outcome to this file, as JSON lines")
        ->type_name("FILE")
        ->check(check_given);
}

/// Why no person can be asked about actions; empty: one can.
std::string why_no_person_is_asked(run_options const& options) {
    if (options.source.file == "-") return "the code is read from standard input";
    if (::isatty(STDIN_FILENO) == 0) return "standard input is no terminal";
    if (::isatty(STDERR_FILENO) == 0) return "standard error, where questions are shown, is no terminal";
    return {};
}

approval_choice ask_where_possible(run_options const& options) {
    return why_no_person_is_asked(options).empty() ? approval_choice::ask : approval_choice::no_terminal;
}

void check_approval_of_lines(run_options const& options) {
    if (options.source.file == "-")
        throw CLI::ValidationError("--approve stdin",
                                   "the code is read from there already; give it as FILE or -c CODE");
    if (!options.json) throw CLI::ValidationError("--approve stdin", "needs --json, whose events say what is asked");
}

/// Why a word that is none of ours names no file of rules either; empty: it names one.
std::string why_no_rules_file(std::string const& word) {
    std::error_code unknown;
    if (std::filesystem::is_regular_file(word, unknown)) return {};
    if (std::filesystem::exists(word, unknown))
        return "'" + word + "' is not a file of rules, nor ask, auto, deny or stdin";
    return "the file '" + word + "' does not exist, and it is not ask, auto, deny or stdin";
}

void choose_approval(run_options& options, approval_words const& approval) {
    std::map<std::string, approval_choice> const words{{"ask", approval_choice::ask},
                                                       {"auto", approval_choice::automatic},
                                                       {"deny", approval_choice::deny},
                                                       {"stdin", approval_choice::lines}};
    if (static_cast<int>(approval.yes) + static_cast<int>(approval.deny) + static_cast<int>(!!approval.mode) > 1)
        throw CLI::ExcludesError("--approve, --yes and --deny exclude each other", CLI::ExitCodes::ExcludesError);
    if (approval.yes) return void(options.approval = approval_choice::automatic);
    if (approval.deny) return void(options.approval = approval_choice::deny);
    if (!approval.mode) return void(options.approval = ask_where_possible(options));
    if (auto const word = words.find(*approval.mode); word != words.end()) {
        options.approval = word->second;
        if (options.approval == approval_choice::lines) check_approval_of_lines(options);
        if (auto const why = why_no_person_is_asked(options); options.approval == approval_choice::ask && !why.empty())
            throw CLI::ValidationError("--approve ask", why + "; choose auto, deny or a rules file");
        return;
    }
    if (auto const why = why_no_rules_file(*approval.mode); !why.empty()) throw CLI::ValidationError("--approve", why);
    options.approval = ask_where_possible(options);
    options.rules = *approval.mode;
}

/// What is about actions is not to be passed over: a kernel that starts programs by itself would seem to ask.
void check_kernel(CLI::App const& run) {
    if (run.count("--kernel") == 0) return;
    for (auto const* option : {"ARG", "--mcp-config", "--tool-timeout", "--require-servers", "--approve-shell-cmds",
                               "--require-shell-escape", "--approve", "--yes", "--deny", "--audit-log", "--packages"})
        if (run.count(option) > 0)
            throw CLI::ExcludesError(
                std::string(option) +
                    " needs the kernel of ipybox: it has no effect on a kernel of --kernel, leave out one of the two",
                CLI::ExitCodes::ExcludesError);
}

void add_apigen_command(CLI::App& program, apigen_options& options) {
    auto& apigen = *program.add_subcommand(
        "apigen", "Generates the Python API of an MCP server's tools: a package of modules, one a tool.");
    apigen.add_option("--server-name", options.server_name, "Name of the server and of its package")
        ->required()
        ->type_name("NAME")
        ->check(check_given);
    auto* const params =
        apigen
            .add_option("--server-params", options.server_params,
                        R"(How it is started: {"command": "npx", "args": ["-y", "some-server"], "env": {}})")
            ->type_name("JSON")
            ->check(check_given);
    auto* const config =
        apigen.add_option("--mcp-config", options.mcp_config, "File that says how, under `mcpServers`")
            ->type_name("FILE")
            ->check(check_given)
            ->check(CLI::Validator(CLI::ExistingFile).description(""));
    apigen.add_option("--root-dir", options.root_dir, "Where the package is written: ROOT_DIR/NAME")
        ->required()
        ->type_name("DIR")
        ->check(check_given);
    apigen.add_flag("--async", options.async, "Generate `async def run`");
    apigen.add_flag("--check", options.check,
                    "Write nothing; exit code 1 where the server's tools are not those of the package");
    apigen.footer(apigen_footer);
    apigen.callback([params, config] {
        if (params->empty() && config->empty()) throw CLI::RequiredError("--server-params or --mcp-config");
        if (!params->empty() && !config->empty())
            throw CLI::ExcludesError("--server-params and --mcp-config exclude each other",
                                     CLI::ExitCodes::ExcludesError);
    });
}

void add_run_command(CLI::App& program, run_options& options, double& timeout, approval_words& approval) {
    auto& run = *program.add_subcommand("run", about_run);
    auto* const file = run.add_option("FILE", options.source.file, "Python file or notebook; `-`: standard input");
    run.add_option("ARG", options.arguments,
                   "Arguments of the code (sys.argv); those that begin with `-` come behind `--`")
        ->type_name("");
    auto* const code = run.add_option("-c", options.source.code, "Run this text instead of a file")->type_name("CODE");
    file->type_name("")->check(check_given);

    auto const choose_sandbox = [&options](std::string const& name) {
        for (auto const& [known, choice] : sandbox_names)
            if (known == name) options.sandbox = choice;
    };
    run.add_option_function<std::string>("--sandbox", choose_sandbox,
                                         "What holds the kernel: bubblewrap (default), landlock, srt,\n"
                                         "best (bubblewrap, else landlock) or none")
        ->type_name("NAME")
        ->check(check_sandbox);
    run.add_option("--sandbox-config", options.sandbox_config,
                   "What code may read and write, as a JSON file of sandbox-runtime has it (docs/sandbox.md);\n"
                   "without it, the code writes to its working directory and reads no secrets")
        ->type_name("FILE")
        ->check(check_given)
        ->check(CLI::Validator(CLI::ExistingFile).description(""));
    run.add_option("--allow-host", options.allowed_hosts,
                   "Let the code reach a host by name: pypi.org, *.example.org, pypi.org:443;\n"
                   "may be given more than once. Others are asked for, unless --sandbox-config says otherwise")
        ->type_name("HOST")
        ->allow_extra_args(false)
        ->check(check_host);
    auto const allow = [&options](std::vector<std::string> const& names) {
        for (auto const& name : names) options.allow.push_back(*system_access_of(name));
    };
    run.add_option_function<std::vector<std::string>>(
           "--allow", allow,
           "Leave a part of the system open: unix-sockets (what your services listen on), ptrace,\n"
           "user-namespaces, io-uring or perf-events; may be given more than once")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->check(check_access);
    auto const limit = [&options](std::vector<std::string> const& limits) {
        for (auto const& one : limits) (void)set_limit(options.limits, one);
    };
    run.add_option_function<std::vector<std::string>>(
           "--limit", limit,
           "What the code may take: memory=4G and cpu-time=60 (seconds) of each process,\n"
           "kernel-memory=8G and processes=500 of all that it starts, file-size=1G,\n"
           "open-files=1000, or =none; may be given more than once")
        ->type_name("NAME=N")
        ->allow_extra_args(false)
        ->check(check_limit);
    run.add_option("--timeout", timeout, "Seconds that one cell may take; no limit without it")
        ->type_name("S")
        ->check(check_seconds);
    run.add_option_function<double>(
           "--end-grace",
           [&options](double seconds) {
               options.end_grace = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
           },
           "Seconds that threads and exit functions may take at the end (default: 1)")
        ->type_name("S")
        ->check(check_seconds_or_none);
    run.add_option("--working-dir", options.working_dir, "Where the code runs and may write (default: here)")
        ->type_name("DIR")
        ->check(check_given)
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""));
    run.add_option("--images-dir", options.images_dir, "Where pictures are saved (default: ./images)")
        ->type_name("DIR")
        ->check(check_given)
        ->check(check_output_directory);
    run.add_option("--spill-dir", options.spill_dir,
                   "Where output that is too large for memory is kept (default: in temporary files, which are\n"
                   "gone at the end)")
        ->type_name("DIR")
        ->check(check_given)
        ->check(check_output_directory);
    run.add_option("--calls-per-cell", options.calls_per_cell, "How many actions one cell may ask for (default: 10000)")
        ->type_name("N")
        ->check(check_count);
    run.add_option("--python", options.python,
                   "Interpreter of the kernel (default: a virtual environment, else python3)")
        ->type_name("PATH")
        ->check(check_given);
    run.add_option("--kernel", options.kernel, "Run another Jupyter kernel, by the name of its kernelspec")
        ->type_name("KERNELSPEC")
        ->check(check_given);
    run.add_flag("--keep-going", options.keep_going,
                 "Go on after a cell that failed; the exit code is that of the first one");
    run.add_flag("--times", options.times, "Say on standard error how long each cell took");
    run.add_flag("--raw-output", options.raw_output,
                 "Let every escape sequence of the code's output through to a terminal, not only colours");
    run.add_flag("--json", options.json, "Write events to standard output, one JSON object a line (docs/cli.md)");
    add_action_options(run, options, approval);
    add_package_options(run, options.packages);
    run.footer(run_footer);
    run.callback([&run, file, code, &options, &approval] {
        if (file->empty() && code->empty()) throw CLI::RequiredError("FILE, `-` or -c CODE");
        if (!file->empty() && !code->empty())
            throw CLI::ExcludesError("FILE and -c CODE exclude each other", CLI::ExitCodes::ExcludesError);
        check_kernel(run);
        if (!options.sandbox_config.empty() && options.sandbox == sandbox_choice::none)
            throw CLI::ExcludesError("--sandbox-config has no effect with --sandbox none, leave out one of the two",
                                     CLI::ExitCodes::ExcludesError);
        if (!options.allowed_hosts.empty() && options.sandbox == sandbox_choice::none)
            throw CLI::ExcludesError("--allow-host has no effect with --sandbox none, leave out one of the two",
                                     CLI::ExitCodes::ExcludesError);
        options.source.any_language = !options.kernel.empty();
        std::error_code ignored;
        if (options.working_dir.empty()) options.working_dir = std::filesystem::current_path(ignored);
        choose_approval(options, approval);
    });
}

} // namespace

std::string_view name_of(sandbox_choice choice) noexcept {
    for (auto const& [name, its_choice] : sandbox_names)
        if (its_choice == choice) return name;
    return {};
}

std::vector<std::filesystem::path> run_options::deciding_files() const {
    std::vector<std::filesystem::path> files;
    // Landlock closes no file of a writable directory. The others decide about approvals; the script runs in the sandbox, the next time too.
    bool const can_close_script = sandbox != sandbox_choice::landlock && sandbox != sandbox_choice::best;
    for (auto const& named : {can_close_script ? source.file.value_or("") : "", rules.string(), audit_log.string(),
                              mcp_config.string(), sandbox_config.string()}) {
        std::error_code missing;
        if (auto const file = std::filesystem::absolute(named, missing); !named.empty() && exists(file, missing))
            files.push_back(file);
    }
    return files;
}

std::variant<run_options, apigen_options, exit_code> read_command_line(int argc, char const* const* argv) {
    run_options options;
    apigen_options apigen;
    approval_words approval;
    auto timeout = 0.0;
    CLI::App program("Runs Python in a stateful, sandboxed IPython kernel.", "ipybox");
    program.set_version_flag("--version", std::string("ipybox ") + version_string);
    program.require_subcommand(1);
    program.footer("`ipybox run --help` and `ipybox apigen --help` tell more.\n");
    program.failure_message(complaint);
    add_run_command(program, options, timeout, approval);
    add_apigen_command(program, apigen);
    // Arguments behind `--` belong to the code, also those that look like options.
    auto const end = std::find(argv, argv + argc, std::string_view("--"));
    try {
        program.parse(static_cast<int>(end - argv), argv);
    } catch (CLI::ParseError const& error) {
        return program.exit(error, std::cout, std::cerr) == 0 ? exit_code::ok : exit_code::usage;
    }
    if (program.got_subcommand("apigen")) return apigen;
    if (end != argv + argc) options.arguments.insert(options.arguments.end(), end + 1, argv + argc);
    if (timeout > 0)
        options.timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout));
    return options;
}

} // namespace ipybox::cli
