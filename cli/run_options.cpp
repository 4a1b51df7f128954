#include <ipybox/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/command_description.hpp>
#include <cli/complaint.hpp>
#include <cli/completion.hpp>
#include <cli/man_page.hpp>
#include <cli/offered_words.hpp>
#include <cli/option_checks.hpp>
#include <cli/run_options.hpp>
#include <cli/version_text.hpp>

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

constexpr auto about_doctor = R"(Tells what works on this machine, and what to do about the rest.

A kernel is started in each sandbox that is available, and runs a cell. Nothing is installed or changed.)";

constexpr auto doctor_footer = R"(Exit codes:
  0  code runs with --sandbox NAME          2  wrong usage
  1  code runs, but not with that sandbox,  3  no kernel starts
     or a directory cannot be written to

Examples:
  ipybox doctor
  ipybox doctor --sandbox landlock --json
)";

constexpr auto about_completion = R"(Prints the script that completes the command line in a shell.)";

constexpr auto completion_footer = R"(Examples:
  source <(ipybox completion bash)              # in ~/.bashrc
  source <(ipybox completion zsh)               # in ~/.zshrc, behind compinit
  ipybox completion fish | source               # in ~/.config/fish/config.fish
)";

/// What stands behind --approve, --yes and --deny.
struct approval_words {
    std::optional<std::string> mode; ///< ask, auto, deny, stdin, or a rules file
    bool yes = false;
    bool deny = false;
};

void add_action_options_of_run(CLI::App& run, run_options& options, approval_words& approval) {
    add_server_options(run, options);
    run.add_flag("--require-servers", options.require_servers,
                 "End before the first cell where a server cannot be used, or does not start");
    run.add_flag("--approve-shell-cmds", options.approve_shell_cmds, "Ask before shell commands, too (!ls, %%bash)");
    add_action_options(run, options);
    run.add_option("--approve", approval.mode,
                   "Who decides about actions: ask (at the terminal; the default where there is one),\n"
                   "auto (all accepted), deny (all rejected; the default without a terminal), stdin (JSON\n"
                   "lines), or a FILE of rules: what it leaves open is asked, or denied, as by default")
        ->type_name("WHO")
        ->check(offers({"ask", "auto", "deny", "stdin"}, other_values::files))
        ->check(check_given);
    run.add_flag("--yes", approval.yes, "As --approve auto");
    run.add_flag("--deny", approval.deny, "As --approve deny");
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
    if (auto const why = why_no_rules_file(*approval.mode, "ask, auto, deny or stdin"); !why.empty())
        throw CLI::ValidationError("--approve", why);
    options.approval = ask_where_possible(options);
    options.rules = *approval.mode;
}

/// What is about actions is not to be passed over: a kernel that starts programs by itself would seem to ask.
void check_kernel(CLI::App const& run) {
    if (run.count("--kernel") == 0) return;
    for (auto const* option :
         {"ARG", "--mcp-config", "--tool-timeout", "--connect-timeout", "--require-servers", "--approve-shell-cmds",
          "--require-shell-escape", "--approve", "--yes", "--deny", "--audit-log", "--packages", "--cache"})
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
        ->transform(CLI::Validator(expand_directory, ""))
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

void add_doctor_command(CLI::App& program, doctor_options& options) {
    auto& doctor = *program.add_subcommand("doctor", about_doctor);
    add_sandbox_option(doctor, options.sandbox);
    add_python_option(doctor, options.python);
    add_working_dir_option(doctor, options.working_dir);
    doctor.add_flag("--json", options.json, "Write one JSON object to standard output (docs/doctor.md)");
    doctor.footer(doctor_footer);
}

/// A printer of something that is made of the option tree.
using tree_printer = std::string (*)(command_description const&);

constexpr std::array<std::pair<std::string_view, tree_printer>, 3> shells{
    {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}};

std::string check_shell(std::string const& name) {
    for (auto const& [known, printer] : shells)
        if (known == name) return {};
    return "'" + name + "' is none of bash, zsh, fish";
}

void add_completion_commands(CLI::App& program, std::string& shell) {
    auto& completion = *program.add_subcommand("completion", about_completion);
    completion.add_option("SHELL", shell, "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->check(offers(names_in(shells)))
        ->check(check_shell);
    completion.footer(completion_footer);
    // For the build, which installs the page.
    program.add_subcommand("man-page", "Prints the manual page.")->group("");
}

/// Prints the completion script or the manual page, if one of them was asked for.
bool print_of_tree(CLI::App& program, std::string const& shell) {
    if (program.got_subcommand("man-page")) {
        std::cout << man_page(describe(program), version::text);
        return true;
    }
    if (!program.got_subcommand("completion")) return false;
    for (auto const& [name, printer] : shells)
        if (name == shell) std::cout << printer(describe(program));
    return true;
}

void add_run_command(CLI::App& program, run_options& options, double& timeout, approval_words& approval) {
    auto& run = *program.add_subcommand("run", about_run);
    auto* const file = run.add_option("FILE", options.source.file, "Python file or notebook; `-`: standard input");
    run.add_option("ARG", options.arguments,
                   "Arguments of the code (sys.argv); those that begin with `-` come behind `--`")
        ->type_name("");
    auto* const code = run.add_option("-c", options.source.code, "Run this text instead of a file")->type_name("CODE");
    file->type_name("")->check(check_given);

    add_sandbox_options(run, options);
    add_kernel_options(run, options);
    run.add_option("--timeout", timeout, "Seconds that one cell may take; no limit without it")
        ->type_name("S")
        ->check(check_seconds);
    run.add_option_function<double>(
           "--end-grace",
           [&options](double seconds) {
               options.end_grace = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
           },
           "Seconds that threads and exit functions may take at the end (default: 10)")
        ->type_name("S")
        ->check(check_seconds_or_none);
    add_working_dir_option(run, options.working_dir);
    add_home_option(run, options);
    run.add_option("--spill-dir", options.spill_dir,
                   "Where output that is too large for memory is kept (default: in temporary files, which are\n"
                   "gone at the end)")
        ->type_name("DIR")
        ->transform(CLI::Validator(expand_directory, ""))
        ->check(check_given)
        ->check(check_output_directory);
    run.add_option("--calls-per-cell", options.calls_per_cell, "How many actions one cell may ask for (default: 10000)")
        ->type_name("N")
        ->check(check_count);
    run.add_option("--kernel", options.kernel, "Run another Jupyter kernel, by the name of its kernelspec")
        ->type_name("KERNELSPEC")
        ->check(check_given);
    run.add_flag("--keep-going", options.keep_going,
                 "Go on after a cell that failed; the exit code is that of the first one");
    run.add_flag("--times", options.times, "Say on standard error how long each cell took");
    run.add_flag("--raw-output", options.raw_output,
                 "Let every escape sequence of the code's output through to a terminal, not only colours");
    run.add_flag("--json", options.json, "Write events to standard output, one JSON object a line (docs/cli.md)");
    add_action_options_of_run(run, options, approval);
    add_package_options(run, options.packages);
    for (auto const* name : {"--package-index", "--package-wheels"}) run.get_option(name)->needs("--packages");
    run.footer(run_footer);
    run.callback([&run, file, code, &options, &approval] {
        if (file->empty() && code->empty()) throw CLI::RequiredError("FILE, `-` or -c CODE");
        if (!file->empty() && !code->empty())
            throw CLI::ExcludesError("FILE and -c CODE exclude each other", CLI::ExitCodes::ExcludesError);
        check_kernel(run);
        check_sandbox_options(options);
        options.source.any_language = !options.kernel.empty();
        settle_working_directory(options, "--working-dir");
        choose_approval(options, approval);
    });
}

/// `ipybox --workspace DIR`, as configurations of MCP clients have it.
bool is_server_without_verb(std::vector<char const*> const& words) {
    if (words.size() < 2) return false;
    std::string_view const first(words[1]);
    return first.starts_with("--") && first != "--help" && first != "--version" && first != "--verbose";
}

} // namespace

std::vector<std::filesystem::path> run_options::deciding_files() const {
    auto files = box_options::deciding_files();
    // Landlock closes no file of a writable directory. The script runs in the sandbox, the next time too.
    bool const can_close_script = sandbox != sandbox_choice::landlock && sandbox != sandbox_choice::best;
    if (can_close_script && source.file)
        for (auto& script : existing({*source.file})) files.push_back(std::move(script));
    return files;
}

std::variant<run_options, apigen_options, mcp_options, doctor_options, exit_code>
read_command_line(int argc, char const* const* argv) {
    run_options options;
    apigen_options apigen;
    mcp_options mcp;
    doctor_options doctor;
    std::string shell;
    auto verbose = false;
    approval_words approval;
    auto timeout = 0.0;
    CLI::App program("Runs Python in a stateful, sandboxed IPython kernel.", "ipybox");
    program.set_version_flag("--version", [&program] {
        return version_text(program.count("--verbose") > 0 ? detail_of_version::libraries : detail_of_version::alone);
    });
    program
        .add_flag("--verbose", verbose, "With --version: the versions of libraries, and the interpreter for kernels")
        ->needs("--version");
    program.require_subcommand(1);
    program.footer("`ipybox run --help` tells more, and so does that of the other commands.\n"
                   "Without a command, options are those of `ipybox mcp`: ipybox --workspace DIR\n");
    program.failure_message(complaint_about);
    add_run_command(program, options, timeout, approval);
    add_apigen_command(program, apigen);
    add_mcp_command(program, mcp);
    add_doctor_command(program, doctor);
    add_completion_commands(program, shell);
    // Arguments behind `--` belong to the code, also those that look like options.
    auto const end = std::find(argv, argv + argc, std::string_view("--"));
    auto words = std::vector<char const*>(argv, end);
    if (is_server_without_verb(words)) words.insert(words.begin() + 1, "mcp");
    try {
        program.parse(static_cast<int>(words.size()), words.data());
    } catch (CLI::ParseError const& error) {
        return program.exit(error, std::cout, std::cerr) == 0 ? exit_code::ok : exit_code::usage;
    }
    if (print_of_tree(program, shell)) return exit_code::ok;
    if (program.got_subcommand("apigen")) return apigen;
    if (program.got_subcommand("mcp")) return mcp;
    if (program.got_subcommand("doctor")) return doctor;
    if (end != argv + argc) options.arguments.insert(options.arguments.end(), end + 1, argv + argc);
    if (timeout > 0)
        options.timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout));
    return options;
}

} // namespace ipybox::cli
