#pragma once

#include <ipybox/approval/approval_request.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/execution/display.hpp>
#include <ipybox/execution/execution_result.hpp>
#include <ipybox/execution/output_chunk.hpp>

#include <cstddef>
#include <string>

namespace ipybox::cli {

/// Where the events of the cells go. Cells are counted from 0.
class cell_output {
  public:
    cell_output() = default;
    cell_output(cell_output const&) = delete;
    cell_output& operator=(cell_output const&) = delete;
    virtual ~cell_output() = default;

    virtual void text(std::size_t cell, output_chunk const& chunk) = 0;
    virtual void shown(std::size_t cell, display const& shown) = 0;
    virtual void cleared(std::size_t cell) = 0;
    virtual void approval_wanted(std::size_t cell, approval_request const& request) = 0;
    virtual void finished(std::size_t cell, result<execution_result> const& result) = 0;
};

/// What a cell brought until its end, however it ended.
[[nodiscard]] inline execution_result const& output_of(result<execution_result> const& result) {
    static execution_result const nothing;
    if (result) return *result;
    return result.error().output() != nullptr ? *result.error().output() : nothing;
}

/// The text of `sys.exit("text")`; empty for an exit with a number.
[[nodiscard]] inline std::string exit_text(error const& why) {
    if (why.exception() == nullptr || why.output() == nullptr || why.output()->exit_code != 1) return {};
    auto const& text = why.exception()->evalue;
    return text == "True" || text == "1" ? std::string() : text;
}

} // namespace ipybox::cli
