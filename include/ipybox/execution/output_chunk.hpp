#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/// Which of the kernel's streams text was written to.
enum class output_stream { stdout_, stderr_ };

/// "stdout" or "stderr".
[[nodiscard]] constexpr std::string_view to_string(output_stream s) noexcept {
    return s == output_stream::stderr_ ? "stderr" : "stdout";
}

/// A piece of text that the code wrote, as it came: UTF-8, cut anywhere between two characters.
struct output_chunk {
    /// The stream that the code wrote it to.
    output_stream stream = output_stream::stdout_;
    /// Valid UTF-8.
    std::string text;
};

} // namespace ipybox
