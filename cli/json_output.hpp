#pragma once

#include <cli/cell_output.hpp>
#include <cli/output_file.hpp>

namespace ipybox::cli {

/// Output for programs: one JSON object a line (docs/cli.md). Bytes that are not UTF-8 are replaced by U+FFFD.
class json_output final : public cell_output {
  public:
    explicit json_output(output_file& standard_output) noexcept : out_(standard_output) {}

    void text(std::size_t cell, output_chunk const& chunk) override;
    void shown(std::size_t cell, display const& shown) override;
    void cleared(std::size_t cell) override;
    void approval_wanted(std::size_t cell, approval_request const& request) override;
    void finished(std::size_t cell, result<execution_result> const& result) override;

  private:
    output_file& out_;
};

} // namespace ipybox::cli
