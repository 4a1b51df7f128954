#pragma once

#include <string_view>
#include <system_error>

namespace ipybox::cli {

/// Output could not be written; EPIPE says that its reader is gone.
struct output_error : std::system_error {
    using system_error::system_error;
};

/// One of the program's standard streams, unbuffered: what was written is seen at once.
class output_file {
  public:
    explicit output_file(int descriptor) noexcept : descriptor_(descriptor) {}

    /// Writes all of it. Throws output_error.
    void write(std::string_view text);

    /// Writes it on lines of its own.
    void write_lines(std::string_view text);

  private:
    int descriptor_;
    bool in_line_ = false;
};

} // namespace ipybox::cli
