#pragma once

#include <cli/cell_output.hpp>
#include <cli/output_file.hpp>

namespace ipybox::cli {

/// Output for people: what the cells print goes where they print it, displays are shown as text, pictures by their
/// files.
class terminal_output final : public cell_output {
  public:
    terminal_output(output_file& standard_output, output_file& standard_error) noexcept
        : out_(standard_output), err_(standard_error) {}

    void text(std::size_t cell, output_chunk const& chunk) override;
    void shown(std::size_t cell, display const& shown) override;
    void cleared(std::size_t) override {}                                  // What was printed stays.
    void approval_wanted(std::size_t, approval_request const&) override {} // Who decides says it.
    void finished(std::size_t cell, result<execution_result> const& result) override;

  private:
    output_file& out_;
    output_file& err_;
};

} // namespace ipybox::cli
