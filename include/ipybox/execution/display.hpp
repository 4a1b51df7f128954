#pragma once

#include <ipybox/jupyter/mime_bundle.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox {

/// One rich output.
struct display {
    /// Why something was displayed: the Jupyter message it came in.
    enum class message_type {
        display_data,       ///< `display(x)`, a plot
        execute_result,     ///< the value of the cell's last expression
        update_display_data ///< new content for an earlier display; only in events, results hold the updated display
    };

    /// The message type: "display_data", …
    [[nodiscard]] friend constexpr std::string_view to_string(message_type type) noexcept {
        switch (type) {
        case message_type::execute_result: return "execute_result";
        case message_type::update_display_data: return "update_display_data";
        case message_type::display_data: break;
        }
        return "display_data";
    }

    /// The content of a display: one value per MIME type.
    using mime_bundle = detail::mime_bundle;

    /// How it was displayed.
    message_type kind = message_type::display_data;
    /// Its content, in each of its MIME types.
    mime_bundle data;
    std::string metadata = "{}"; ///< JSON object, by MIME type, as the kernel sent it
    std::string id;              ///< `transient.display_id`, empty without
    std::filesystem::path image; ///< the file that its `image/png` was saved to, empty without
    std::filesystem::path
        spill_file; ///< JSON object of `data` and `metadata`, when the output's bound left no room for them here
};

} // namespace ipybox
