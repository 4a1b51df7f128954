#pragma once

#include <ipybox/execution/display.hpp>

#include <array>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief The text that stands for a display; nullptr where it has none.
 * \details That is its `text/plain`. If IPython has put the name of a class there, or nothing, it is the Markdown,
 * LaTeX, JSON or SVG that was displayed.
 */
[[nodiscard]] inline std::string const* display_text(display const& shown) noexcept {
    constexpr std::array<std::string_view, 4> readable{"text/markdown", "text/latex", "application/json",
                                                       "image/svg+xml"};
    auto const* plain = shown.data.find("text/plain");
    if (plain && !(plain->starts_with("<IPython.core.display.") && plain->ends_with(" object>"))) return plain;
    for (auto const type : readable)
        if (auto const* text = shown.data.find(type)) return text;
    return plain;
}

} // namespace ipybox::detail
