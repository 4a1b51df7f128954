#pragma once

#include <cli/exit_code.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>

#include <stop_token>

namespace ipybox::cli {

/// `ipybox doctor`: looks at the machine and writes what it has found to `out`; nothing is written where it was to
/// stop.
[[nodiscard]] exit_code examine(doctor_options const& options, std::stop_token const& stop, output_file& out);

} // namespace ipybox::cli
