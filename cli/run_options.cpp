#include <ipybox/version.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/run_options.hpp>

#include <iostream>
#include <string>

namespace ipybox::cli {
namespace {

constexpr auto about_run = R"(Runs Python code in a sandboxed IPython kernel. Output appears as it comes.

FILE is cut into cells at lines that begin with `# %%`; what follows on such a line is the cell's title,
and `# %% [markdown]` cells are skipped. All cells run in one session, one after the other; the first one
that fails ends the run. Of a notebook (FILE.ipynb) the code cells are run. `-` reads standard input.)";

constexpr auto run_footer = R"(Exit codes:
  0  all cells ran            1  a cell raised an exception, or its kernel died
  2  wrong usage or file    124  a cell took longer than --timeout
  3  no kernel or sandbox   130  interrupted by Ctrl-C (twice: at once)

Examples:
  ipybox run analysis.py
  ipybox run -c 'import sys; sys.version'
  ipybox run notebook.ipynb --times --timeout 60
  echo 'print(1 + 1)' | ipybox run - --json
  ipybox run script.sh --kernel bash --sandbox none)";

/// CLI::Range would let NaN through.
std::string check_timeout(std::string const& text) {
    auto seconds = 0.0;
    auto const longest = 1e9; // 30 years
    if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0.001 && seconds <= longest) return {};
    return "'" + text + "' is not a number of seconds, at least 0.001";
}

std::string check_sandbox(std::string const& name) {
    if (name == "bubblewrap" || name == "none") return {};
    return "'" + name + "' is neither bubblewrap nor none";
}

/// What a person reads who has called the program wrongly.
std::string complaint(CLI::App const* program, CLI::Error const& error) {
    std::string what = error.what();
    if (program->get_subcommands().empty()) {
        auto const strangers = program->remaining();
        what = strangers.empty() ? "a command is missing" : "'" + strangers.front() + "' is no command";
        what += ". To run a file: ipybox run FILE";
    }
    return "ipybox: " + what + "\n`ipybox run --help` tells more.\n";
}

void add_run_command(CLI::App& program, run_options& options, double& timeout) {
    auto& run = *program.add_subcommand("run", about_run);
    auto* const file = run.add_option("FILE", options.source.file, "Python file or notebook; `-`: standard input");
    auto* const code = run.add_option("-c", options.source.code, "Run this text instead of a file")->type_name("CODE");
    file->type_name("");

    auto const choose_sandbox = [&options](std::string const& name) {
        options.sandbox = name == "none" ? sandbox_choice::none : sandbox_choice::bubblewrap;
    };
    run.add_option_function<std::string>("--sandbox", choose_sandbox,
                                         "What holds the kernel: bubblewrap (default) or none")
        ->type_name("NAME")
        ->check(check_sandbox);
    run.add_option("--timeout", timeout, "Seconds that one cell may take; no limit without it")
        ->type_name("S")
        ->check(check_timeout);
    run.add_option("--working-dir", options.working_dir, "Where the code runs and may write (default: here)")
        ->type_name("DIR")
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""));
    run.add_option("--images-dir", options.images_dir, "Where pictures are saved (default: ./images)")
        ->type_name("DIR");
    run.add_option("--python", options.python,
                   "Interpreter of the kernel (default: a virtual environment, else python3)")
        ->type_name("PATH");
    run.add_option("--kernel", options.kernel, "Run another Jupyter kernel, by the name of its kernelspec")
        ->type_name("KERNELSPEC");
    run.add_flag("--keep-going", options.keep_going,
                 "Go on after a cell that failed; the exit code is that of the first one");
    run.add_flag("--times", options.times, "Say on standard error how long each cell took");
    run.add_flag("--json", options.json, "Write events to standard output, one JSON object a line (docs/cli.md)");
    run.footer(run_footer);
    run.callback([file, code] {
        if (file->empty() && code->empty()) throw CLI::RequiredError("FILE, `-` or -c CODE");
        if (!file->empty() && !code->empty())
            throw CLI::ExcludesError("FILE and -c CODE exclude each other", CLI::ExitCodes::ExcludesError);
    });
}

} // namespace

std::variant<run_options, exit_code> read_command_line(int argc, char const* const* argv) {
    run_options options;
    auto timeout = 0.0;
    CLI::App program("Runs Python in a stateful, sandboxed IPython kernel.", "ipybox");
    program.set_version_flag("--version", std::string("ipybox ") + version_string);
    program.require_subcommand(1);
    program.footer("`ipybox run --help` tells more.");
    program.failure_message(complaint);
    add_run_command(program, options, timeout);
    try {
        program.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        return program.exit(error, std::cout, std::cerr) == 0 ? exit_code::ok : exit_code::usage;
    }
    if (timeout > 0)
        options.timeout = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout));
    return options;
}

} // namespace ipybox::cli
