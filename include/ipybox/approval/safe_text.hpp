#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/rules/approval_subject.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/// An action as people can read it, and nothing else than it.
struct safe_text {
    /// The kind of front end that draws the text.
    enum class front_end {
        terminal,
        markup ///< it may take the text for Markdown or HTML, as MCP clients do with the message of a form
    };

    /// How an action is shown.
    struct options {
        std::size_t columns = 0;   ///< no row is wider, its margin included; 0: one row without a margin
        std::size_t rows = 0;      ///< at most so many: the head, one that says how much is left out, and the tail; 0:
                                   ///< all
        std::string margin = "| "; ///< before each row of the action's text; other rows have none, so that the text
                                   ///< cannot pass for one of them

        /// With markup, a margin of four blanks behind an empty line makes the rows a block of code. The row that says
        /// how much is left out stands between empty rows, and characters that begin a tag or a character reference of
        /// HTML are spelled out.
        front_end drawn_by = front_end::terminal;
    };

    /**
     * \brief Shows an action so that its text cannot hide, reorder or imitate anything, for any front end.
     * \details Words are written as in a shell, `$'…'` where something in them is spelled out; arguments are JSON.
     * Shown as they are: ASCII, and letters, digits, punctuation and symbols of scripts that are written from left to
     * right, one visible character after the other. Spelled out (`\n`, `\x1b`, `\u202e`, bytes that are not UTF-8 as
     * `\xff`): all else, such as control characters, combining and invisible ones, other blanks, right-to-left letters,
     * private use and lines for drawing. More than eight blanks in a row are `\x20{1900}`. Letters that look alike in
     * two alphabets are not told apart. Rows are broken with room for terminals that draw any letter beyond ASCII twice
     * as wide.
     * \code
     * shell command ls -l 'my file' (in /work, A=1, without B)
     * \endcode
     */
    [[nodiscard]] static safe_text of(approval_subject const& subject, options const& how);
    /// The same in one row.
    [[nodiscard]] static safe_text of(approval_subject const& subject);

    /// Any text in one row, spelled as a word of an action.
    [[nodiscard]] static std::string word(std::string_view text, front_end drawn_by = front_end::terminal);

    /// Names the action and its program or tool in few words: "shell command /bin/sh". The name is cut after 40
    /// characters.
    [[nodiscard]] static std::string title(approval_subject const& subject);

    /// The text, line by line.
    std::vector<std::string> rows;
    std::size_t characters = 0; ///< of all the text, as it is spelled
    std::size_t left_out = 0;   ///< of these

    /// The rows with line ends between them.
    [[nodiscard]] std::string text() const;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/safe_text.ipp>
#endif
