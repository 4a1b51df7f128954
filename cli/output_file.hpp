#pragma once

#include <ipybox/execution/line_position.hpp>

#include <cli/terminal_text.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

namespace ipybox::cli {

/// Output could not be written; EPIPE says that its reader is gone.
struct output_error : std::system_error {
    using system_error::system_error;
};

/// Escape sequences in what is written to a terminal.
enum class escape_sequences {
    colours, ///< only those that change the look of text or erase its line, see terminal_text
    all
};

/// One of the program's standard streams, unbuffered: what was written is seen at once.
class output_file {
  public:
    /// A file or pipe gets all that is written, whichever sequences are to pass.
    explicit output_file(int descriptor, escape_sequences passed = escape_sequences::colours);

    /// A stream beside another one. Where both are one terminal, what one has begun a line with, the other one ends.
    output_file(int descriptor, escape_sequences passed, output_file const& beside);

    /// Writes all of it. Throws output_error.
    void write(std::string_view text);

    /// Writes it on lines of its own.
    void write_lines(std::string_view text);

  private:
    void write_all(std::string_view text);

    int descriptor_;
    std::optional<terminal_text> filter_; ///< for a terminal
    std::shared_ptr<line_position> position_ = std::make_shared<line_position>();
};

} // namespace ipybox::cli
