#pragma once

#include <optional>
#include <string>

namespace ipybox::cli {

/// What came of waiting for a line on standard input.
struct typed_line {
    enum class end { line, end_of_file, woken };
    end by;
    std::string text = {}; ///< without the line's end; what stood before the end of file
};

/// Waits for a line on standard input, or until the descriptor `wake` is readable.
[[nodiscard]] typed_line read_typed_line(int wake);

} // namespace ipybox::cli
