#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::cli {

/**
 * \brief Takes from text what could change a terminal beyond the line that is being written.
 * \details Passes on: text, line ends, tabs, carriage returns, backspaces and the bell; colours and attributes (SGR),
 * and the erasure of the line (EL). All other control characters and sequences are left out, with the contents of those
 * that have some (titles, colours of the palette, links); bytes that are no UTF-8 become U+FFFD. What stands at the end
 * of one call and is not complete is completed by the next one.
 */
class terminal_text {
  public:
    [[nodiscard]] std::string operator()(std::string_view given);

  private:
    enum class state {
        ground,
        escape,       ///< behind ESC
        intermediate, ///< behind ESC and one of the blank to `/`
        sequence,     ///< behind ESC [
        string,       ///< behind ESC ] and its like: until BEL, ESC \ or the end of the line
        string_escape ///< ESC in a string
    };

    void take(char32_t code, std::string_view bytes, std::string& out);
    void take_ground(char32_t code, std::string_view bytes, std::string& out);
    void end_sequence(char last, std::string& out);

    state state_ = state::ground;
    std::string parameters_; ///< of a sequence
    std::string incomplete_; ///< the beginning of a character
};

} // namespace ipybox::cli
