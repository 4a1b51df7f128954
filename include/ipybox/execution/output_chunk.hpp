#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/// A piece of text that the code wrote, as it came: UTF-8, cut anywhere between two characters.
struct output_chunk {
    /// The streams of a kernel that text is written to.
    enum class stream_name { stdout_, stderr_ };

    /// "stdout" or "stderr".
    [[nodiscard]] friend constexpr std::string_view to_string(stream_name s) noexcept {
        return s == stream_name::stderr_ ? "stderr" : "stdout";
    }

    /// The stream that the code wrote it to.
    stream_name stream = stream_name::stdout_;
    /// Valid UTF-8.
    std::string text;
    /// Whether it replaces text of its line that came before, as progress bars do. Texts of results have the new text
    /// alone.
    bool replaces_line = false;
};

} // namespace ipybox
