#pragma once

#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/executor_base.hpp>

#include <cli/exit_code.hpp>
#include <cli/interrupts.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ipybox::cli {

/// Notices about the packages of servers: the executor's thread adds them, another one writes them.
class package_notices {
  public:
    /// \param made its package, or why there is none
    void add(std::string const& server, result<codegen::generated_sources> const& made);

    /// Writes what has come until now.
    void write(output_file& err);

  private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

/**
 * \brief Registers the servers of `--mcp-config` and offers their APIs, as `mcptools/` of the working directory: each
 * is generated when the code imports it. With `--require-servers` all are generated at once, unless a signal ends the
 * run meanwhile.
 * \details Notices about the file go to `err`, those of the generator, and why a server does not start, to `notices`.
 * \par Errors errc::invalid_argument — the file is wrong, or something else stands in the way; with `--require-servers`
 * those of starting a server; errc::io_error
 */
[[nodiscard]] result<void> add_tools(executor_base& box, run_options const& options, interrupts const& signals,
                                     std::shared_ptr<package_notices> const& notices, output_file& err);

/// Says which files that decide about actions, or run outside, the code can change all the same.
void warn_of_open_files(executor_base const& box, output_file& err);

/// How the program ends where the API of a server cannot be had.
[[nodiscard]] exit_code exit_code_without_tools(error const& why);

} // namespace ipybox::cli
