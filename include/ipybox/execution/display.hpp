#pragma once

#include <ipybox/jupyter/mime_bundle.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox {

/// Why something was displayed: the Jupyter message it came in.
enum class display_kind {
    display_data,       ///< `display(x)`, a plot
    execute_result,     ///< the value of the cell's last expression
    update_display_data ///< new content for an earlier display; only in events, results hold the updated display
};

/// The message type: "display_data", …
[[nodiscard]] constexpr std::string_view to_string(display_kind kind) noexcept {
    switch (kind) {
    case display_kind::execute_result: return "execute_result";
    case display_kind::update_display_data: return "update_display_data";
    case display_kind::display_data: break;
    }
    return "display_data";
}

/// One rich output.
struct display {
    /// How it was displayed.
    display_kind kind = display_kind::display_data;
    /// Its content, in each of its MIME types.
    mime_bundle data;
    std::string metadata = "{}"; ///< JSON object, by MIME type, as the kernel sent it
    std::string id;              ///< `transient.display_id`, empty without
    std::filesystem::path image; ///< the file that its `image/png` was saved to, empty without
    std::filesystem::path
        spill_file; ///< JSON object of `data` and `metadata`, when the output's bound left no room for them here
};

} // namespace ipybox
