#include <ipybox/approval/approval_rules.hpp>
#include <ipybox/approval/audit_log.hpp>
#include <ipybox/ipybox.hpp>
#include <ipybox/packages/package_layer.hpp>

#include <cli/apigen.hpp>
#include <cli/approver.hpp>
#include <cli/interrupts.hpp>
#include <cli/json_output.hpp>
#include <cli/orphans.hpp>
#include <cli/run_cells.hpp>
#include <cli/terminal_output.hpp>
#include <cli/terminal_questions.hpp>
#include <cli/tools.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ipybox::cli {
namespace {

/// Where one is closed, the next file or socket that is opened would get its number, and our output.
void open_standard_descriptors() {
    while (true) {
        auto const descriptor = ::open("/dev/null", O_RDWR);
        if (descriptor > STDERR_FILENO || descriptor < 0) {
            ::close(descriptor);
            return;
        }
    }
}

/// Tells what a configuration does less than it seems to.
template <class Sandbox>
result<any_sandbox> described(Sandbox sandbox, bool is_configured, run_options const& options, output_file& err) {
    if (!is_configured) return any_sandbox(std::move(sandbox));
    auto const seen = sandbox.describe(options.working_dir);
    if (!seen) return failure(seen.error());
    for (auto const& notice : seen->notices) err.write_lines("ipybox: sandbox: " + notice);
    return any_sandbox(std::move(sandbox));
}

/// The sandbox that was asked for. What its configuration does not do is told.
result<any_sandbox> sandbox_of(run_options const& options, output_file& err) {
    if (options.sandbox == sandbox_choice::none) return any_sandbox(no_sandbox{});
    sandbox_config config;
    if (!options.sandbox_config.empty()) {
        auto read = sandbox_config::load(options.sandbox_config);
        if (!read) return failure(read);
        config = *std::move(read);
    } else if (!options.allowed_hosts.empty()) {
        config.network.ask_for_others = true;
    }
    for (auto const& host : options.allowed_hosts) {
        auto pattern = domain_pattern::parse(host);
        if (!pattern) return failure(pattern);
        config.network.allowed_domains.push_back(*std::move(pattern));
    }
    bool const is_configured = !options.sandbox_config.empty();
    if (options.sandbox == sandbox_choice::srt)
        return described(srt_sandbox(std::move(config)), is_configured, options, err);
    if (options.sandbox == sandbox_choice::landlock)
        return described(landlock_sandbox(std::move(config)), is_configured, options, err);
    if (options.sandbox == sandbox_choice::best)
        return described(best_sandbox(std::move(config)), true, options, err); // which says what it chose
    return described(bubblewrap_sandbox(std::move(config)), is_configured, options, err);
}

/// As Python has it: the file, or `-` or `-c`, and what comes behind it.
std::vector<std::string> argv_of(run_options const& options) {
    std::vector<std::string> argv{"-c"};
    if (options.source.file) argv[0] = *options.source.file;
    std::error_code ignored;
    if (options.source.file && argv[0] != "-" && options.working_dir != std::filesystem::current_path(ignored))
        argv[0] = std::filesystem::absolute(argv[0], ignored).string();
    argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
    return argv;
}

/// Makes the layer that --packages names; a null pointer where the option is missing.
result<std::shared_ptr<package_layer const>> packages_of(package_choice const& chosen) {
    if (chosen.directory.empty()) return nullptr;
    package_options options;
    options.directory = chosen.directory;
    options.wheels = chosen.wheels;
    if (chosen.index) options.index = *chosen.index == "none" ? "" : *chosen.index;
    return package_layer::make(std::move(options));
}

/// What is asked for, with rules and log read and opened.
result<executor_options> executor_options_of(run_options const& options) {
    executor_options result;
    if (!options.rules.empty()) {
        auto rules = approval_rules::load(options.rules);
        if (!rules) return failure(rules);
        result.rules = std::make_shared<approval_rules const>(std::move(*rules));
    }
    if (!options.audit_log.empty()) {
        audit_options log;
        log.file = options.audit_log;
        auto opened = audit_log::open(std::move(log));
        if (!opened) return failure(opened);
        result.audit = std::move(*opened);
    }
    auto packages = packages_of(options.packages);
    if (!packages) return failure(packages);
    result.packages = *std::move(packages);
    result.approve_shell_cmds = options.approve_shell_cmds;
    result.require_shell_escape = options.require_shell_escape;
    result.working_dir = options.working_dir;
    result.images_dir = options.images_dir;
    result.spill_dir = options.spill_dir;
    result.calls_per_cell = options.calls_per_cell;
    result.approval_timeout = std::nullopt; // a question on a terminal stays as long as its cell
    result.python = options.python;
    result.allow = options.allow;
    result.limits = options.limits;
    result.read_only = options.deciding_files();
    result.restart_dead_kernel = options.keep_going;
    result.end_grace = options.end_grace;
    result.after_cell = cwd_policy::keep; // the cells of a file are one program
    result.argv = argv_of(options);
    return result;
}

exit_code run_in(executor_base& box, std::vector<cell> const& cells, run_options const& options, interrupts& signals,
                 terminal_questions& terminal, cell_output& output, output_file& err) {
    interrupts::target const interrupted(signals, box);
    auto const added = add_tools(box, options, signals, err);
    if (auto const ending = signals.ending()) return *ending;
    if (options.sandbox != sandbox_choice::none) warn_of_open_files(box, err);
    if (!added) {
        err.write_lines("ipybox: " + added.error().text());
        return exit_code_without_tools(added.error());
    }
    auto const approver = make_approver(options, terminal);
    return run_cells(box, cells, options, signals, *approver, output, terminal, err);
}

exit_code run_program(run_options const& options, orphans const& left_behind) {
    auto const passed = options.raw_output ? escape_sequences::all : escape_sequences::colours;
    output_file out(STDOUT_FILENO, passed);
    output_file err(STDERR_FILENO, passed);
    auto const cells = read_cells(options.source);
    if (!cells) {
        err.write_lines("ipybox: " + cells.error().text());
        return exit_code::usage;
    }
    if (cells->empty()) return exit_code::ok;

    std::unique_ptr<cell_output> output;
    if (options.json)
        output = std::make_unique<json_output>(out);
    else
        output = std::make_unique<terminal_output>(out, err);

    auto const how = executor_options_of(options);
    if (!how) {
        err.write_lines("ipybox: " + how.error().text());
        return exit_code::usage;
    }
    auto const sandbox = sandbox_of(options, err);
    if (!sandbox) {
        err.write_lines("ipybox: " + sandbox.error().text());
        return exit_code::usage;
    }
    interrupts signals(left_behind);
    terminal_questions terminal(passed);
    // Without a policy the reader of the events is asked: the approver.
    if (options.kernel.empty()) {
        executor box(*how, any_approval{}, *sandbox);
        return run_in(box, *cells, options, signals, terminal, *output, err);
    }
    basic_executor<zmq_transport, any_sandbox, any_approval> box(*how, any_approval{}, *sandbox,
                                                                 zmq_transport({.kernelspec = options.kernel}));
    return run_in(box, *cells, options, signals, terminal, *output, err);
}

exit_code run_program(apigen_options const& options, orphans const& left_behind) {
    output_file out(STDOUT_FILENO);
    output_file err(STDERR_FILENO);
    interrupts signals(left_behind);
    std::stop_source stop;
    interrupts::target const target(signals, stop);
    auto const code = generate_api(options, stop.get_token(), out, err);
    return signals.ending().value_or(code);
}

exit_code run_program(int argc, char** argv) {
    open_standard_descriptors();
    // A closed output becomes EPIPE, so that the kernel is ended in order.
    std::signal(SIGPIPE, SIG_IGN);
    orphans const left_behind;
    try {
        auto const asked = read_command_line(argc, argv);
        if (auto const* code = std::get_if<exit_code>(&asked)) return *code;
        if (auto const* apigen = std::get_if<apigen_options>(&asked)) return run_program(*apigen, left_behind);
        return run_program(std::get<run_options>(asked), left_behind);
    } catch (output_error const& error) {
        if (error.code().value() == EPIPE) return exit_code::output_closed;
        std::cerr << "ipybox: cannot write the output: " << error.code().message() << '\n';
    } catch (std::exception const& error) { std::cerr << "ipybox: " << error.what() << '\n'; }
    return exit_code::failed;
}

} // namespace
} // namespace ipybox::cli

int main(int argc, char** argv) { return static_cast<int>(ipybox::cli::run_program(argc, argv)); }
