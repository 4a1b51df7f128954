#pragma once

#include <cli/exit_code.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>

#include <stop_token>

namespace ipybox::cli {

/**
 * \brief Generates a package, or compares it with the server's tools: modules and differences go to `out`, what is
 * wrong to `err`.
 * \param stop ends the server where it is still asked for its tools; then nothing is written, and nothing said
 */
[[nodiscard]] exit_code generate_api(apigen_options const& options, std::stop_token const& stop, output_file& out,
                                     output_file& err);

} // namespace ipybox::cli
