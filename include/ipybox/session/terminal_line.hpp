#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::detail {

/**
 * \brief Adds what a program prints to a text, as a terminal shows it: carriage returns and backspaces move back in the
 * last line, which is overwritten from there; colours and other escape sequences (ECMA-48) are left out.
 * \details Sequences may be cut anywhere. Of those that move, the ones within a line count: `K`, `C`, `D`, `G`. Each
 * character is one column wide.
 */
class terminal_line {
  public:
    /// Whether this text is only added: neither in it nor before it is anything that moves back.
    [[nodiscard]] bool only_adds(std::string_view what) const noexcept;

    /**
     * \brief Adds to a text.
     * \param text the text so far
     * \param line where its last line begins; it is moved
     * \param firm nothing before this changes: a line that begins there is continued on a new one
     * \return whether something was replaced
     */
    bool add(std::string& text, std::size_t& line, std::size_t firm, std::string_view what);

    /// The text is another one, which ends in an empty line.
    void begin() noexcept { cursor_ = at_end; }

  private:
    enum class parsing { text, escape, sequence, string, end_of_string };
    static constexpr std::size_t at_end = static_cast<std::size_t>(-1);

    /// The text that is added to, and where.
    struct place {
        std::string& text;
        std::size_t& line;
        std::size_t firm;
        bool replaced = false;
    };

    void put(place& at, std::string_view run);
    void control(place& at, char c);
    void sequence(place& at, char final);
    void erase(place& at);
    void move_to(place const& at, std::size_t column);
    void move_by(place& at, std::size_t columns);
    [[nodiscard]] bool begins_new_line(place& at);
    [[nodiscard]] std::size_t column(place const& at) const noexcept;
    [[nodiscard]] std::size_t number(std::size_t absent) const noexcept;

    parsing state_ = parsing::text;
    std::string parameters_;
    std::size_t cursor_ = at_end; ///< bytes behind the beginning of the line
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/session/impl/terminal_line.ipp>
#endif
