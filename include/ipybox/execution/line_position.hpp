#pragma once

#include <string_view>
#include <utility>

namespace ipybox {

/**
 * \brief The position in a line of a text that is put together from printed text and displays.
 * \details The one rule of result texts, of the text of `--json` and of what the program shows: a display has lines of
 * its own. Printed text stays as it is.
 */
class line_position {
  public:
    /// Goes behind a piece of the text.
    void pass(std::string_view text) noexcept {
        if (!text.empty()) in_line_ = text.back() != '\n';
    }

    /// The line end that is missing before a display, or behind it: empty at the beginning of a line.
    [[nodiscard]] std::string_view end_line() noexcept { return std::exchange(in_line_, false) ? "\n" : ""; }

  private:
    bool in_line_ = false;
};

} // namespace ipybox
