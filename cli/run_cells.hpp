#pragma once

#include <ipybox/executor_base.hpp>

#include <cli/approver.hpp>
#include <cli/cell_output.hpp>
#include <cli/cells.hpp>
#include <cli/exit_code.hpp>
#include <cli/interrupts.hpp>
#include <cli/output_file.hpp>
#include <cli/run_options.hpp>
#include <cli/terminal_questions.hpp>

#include <vector>

namespace ipybox::cli {

/**
 * \brief Runs the cells one after the other in the kernel of `box`.
 * \param approver answers what the cells want approved
 * \param output gets the events of the cells
 * \param terminal asks what the cells want to read
 * \param messages gets all else that is to be said
 */
[[nodiscard]] exit_code run_cells(executor_base& box, std::vector<cell> const& cells, run_options const& options,
                                  interrupts& signals, approver& approver, cell_output& output,
                                  terminal_questions& terminal, output_file& messages);

} // namespace ipybox::cli
