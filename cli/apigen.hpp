#pragma once

#include <cli/exit_code.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>

namespace ipybox::cli {

/// Generates a package, or compares it with the server's tools: modules and differences go to `out`, what is wrong to `err`.
[[nodiscard]] exit_code generate_api(apigen_options const& options, output_file& out, output_file& err);

} // namespace ipybox::cli
