#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/executor_base.hpp>

#include <cli/exit_code.hpp>
#include <cli/interrupts.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>

namespace ipybox::cli {

/**
 * \brief Registers the servers of `--mcp-config` and generates their APIs into `mcptools/` of the working directory,
 * unless a signal ends the run meanwhile.
 * \details Notices about the file, notices of the generator, and why a server does not start go to `err`. The other
 * servers work all the same, unless
 * `--require-servers` is set.
 * \par Errors errc::invalid_argument — the file is wrong, or something else stands in the way; with `--require-servers`
 * those of starting a server; errc::io_error
 */
[[nodiscard]] result<void> add_tools(executor_base& box, run_options const& options, interrupts const& signals,
                                     output_file& err);

/// Says which files that decide about actions, or run outside, the code can change all the same.
void warn_of_open_files(executor_base const& box, output_file& err);

/// How the program ends where the API of a server cannot be had.
[[nodiscard]] exit_code exit_code_without_tools(error const& why);

} // namespace ipybox::cli
