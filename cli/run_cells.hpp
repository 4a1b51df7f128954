#pragma once

#include "cell_output.hpp"
#include "cells.hpp"
#include "exit_code.hpp"
#include "output_file.hpp"
#include "run_options.hpp"

#include <ipybox/executor_base.hpp>

#include <vector>

namespace ipybox::cli {

/// Runs the cells one after the other in the kernel of `box`. Events go to `output`, all else that is to be said to `messages`.
[[nodiscard]] exit_code run_cells(executor_base& box, std::vector<cell> const& cells, run_options const& options,
                                  cell_output& output, output_file& messages);

} // namespace ipybox::cli
