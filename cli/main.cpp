#include <ipybox/http.hpp>
#include <ipybox/ipybox.hpp>

#include <cli/apigen.hpp>
#include <cli/approver.hpp>
#include <cli/box.hpp>
#include <cli/client_setup.hpp>
#include <cli/doctor.hpp>
#include <cli/interrupts.hpp>
#include <cli/json_output.hpp>
#include <cli/mcp.hpp>
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
#include <filesystem>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
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

/// What is asked for, with rules and log read and opened.
result<executor_options> executor_options_of(run_options const& options) {
    auto read = box_executor_options(options);
    if (!read) return failure(read);
    auto result = *std::move(read);
    if (!options.packages.directory.empty()) {
        auto packages = packages_of(options);
        if (!packages) return failure(packages);
        result.kernel.packages = *std::move(packages);
    }
    result.approval.shell_cmds = options.approve_shell_cmds;
    result.output.spill_dir = options.spill_dir;
    result.approval.calls_per_cell = options.calls_per_cell;
    result.approval.timeout = std::nullopt; // a question on a terminal stays as long as its cell
    result.sandbox.read_only = options.deciding_files();
    result.kernel.restart_dead = options.keep_going;
    result.kernel.end_grace = options.end_grace;
    result.kernel.keep_cwd = true; // the cells of a file are one program
    result.kernel.argv = argv_of(options);
    return result;
}

exit_code run_in(executor_base& box, std::vector<cell> const& cells, run_options const& options, interrupts& signals,
                 terminal_questions& terminal, cell_output& output, output_file& err) {
    interrupts::target const interrupted(signals, box);
    auto const notices = std::make_shared<package_notices>();
    auto const added = add_tools(box, options, signals, notices, err);
    if (auto const ending = signals.ending()) return *ending;
    if (options.sandbox != sandbox_choice::none) warn_of_open_files(box, err);
    if (!added) {
        err.write_lines("ipybox: " + added.error().text());
        return exit_code_without_tools(added.error());
    }
    notices->write(err);
    auto const approver = make_approver(options, terminal);
    auto const code = run_cells(box, cells, options, signals, *approver, output, terminal, err);
    notices->write(err);
    return code;
}

exit_code run_program(run_options const& options, orphans const& left_behind) {
    auto const passed = options.raw_output ? escape_sequences::all : escape_sequences::colours;
    output_file out(STDOUT_FILENO, passed);
    output_file err(STDERR_FILENO, passed, out);
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

    if (!options.notice_of_directory.empty()) err.write_lines("ipybox: " + options.notice_of_directory);
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
        executor box(*how, stream_reader_approval{}, *sandbox);
        return run_in(box, *cells, options, signals, terminal, *output, err);
    }
    basic_executor box(*how, stream_reader_approval{}, *sandbox, zmq_transport({.kernelspec = options.kernel}));
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

exit_code run_program(doctor_options const& options, orphans const& left_behind) {
    output_file out(STDOUT_FILENO);
    interrupts signals(left_behind);
    std::stop_source stop;
    interrupts::target const target(signals, stop);
    auto const code = examine(options, stop.get_token(), out);
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
        if (auto const* mcp = std::get_if<mcp_options>(&asked))
            return mcp->setup ? set_up_client(*mcp->setup) : serve_mcp(*mcp, left_behind);
        if (auto const* doctor = std::get_if<doctor_options>(&asked)) return run_program(*doctor, left_behind);
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
