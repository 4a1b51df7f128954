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
    output_stream stream = output_stream::stdout_;
    std::string text;
};

} // namespace ipybox
