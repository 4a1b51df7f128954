#pragma once

#include <ipybox/rules/shell_line.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/**
 * \brief Writes a word of a shell line anew, from left to right.
 * \details Literal text goes into single quotes, in which no shell reads anything but the quote that ends them. The
 * rest is what a shell is to expand, and stands as it is.
 */
class word_writer {
  public:
    /// Text that the program gets as it is.
    void literal(std::string_view text) {
        open_quotes();
        for (char const c : text) {
            if (c == '\'')
                written_ += "'\\''";
            else
                written_ += c;
        }
    }

    /// Quotes that may stay empty: `""` is a word, too.
    void open_quotes() {
        if (!std::exchange(in_quotes_, true)) written_ += '\'';
    }

    /// A character that is part of a pattern, a tilde or braces.
    void bare(char c) {
        close_quotes();
        written_ += c;
    }

    /// `${x}` or `$( … )`.
    void expansion(std::string_view text, bool quoted) {
        close_quotes();
        if (quoted) written_ += '"';
        written_ += text;
        if (quoted) written_ += '"';
    }

    /// The word, and an empty one of the next.
    [[nodiscard]] std::string take() {
        close_quotes();
        return std::exchange(written_, {});
    }

    /// Begins anew, with a word of which everything is literal.
    void become(std::string_view text) {
        written_.clear();
        in_quotes_ = false;
        literal(text);
    }

  private:
    void close_quotes() {
        if (std::exchange(in_quotes_, false)) written_ += '\'';
    }

    std::string written_;
    bool in_quotes_ = false;
};

/// One literal word.
[[nodiscard]] inline std::string in_single_quotes(std::string_view text) {
    word_writer writer;
    writer.literal(text);
    return writer.take();
}

/// A word while it is read, and the same anew.
struct written_word {
    shell_word read;
    word_writer anew;
    bool has_tilde = false; ///< or may have one

    void add(char c) {
        read.text += c;
        anew.literal(std::string_view(&c, 1));
    }
};

/// A command while it is read, and the same anew.
struct written_command {
    shell_command read;
    std::string anew;
    std::size_t word_at = 0; ///< where its last word is in `anew`
    std::size_t word_size = 0;
    bool reads_file = false;

    /// A redirection or an assignment.
    void add(std::string_view part) {
        if (!anew.empty()) anew += ' ';
        anew += part;
    }
    void add_word(std::string_view word) {
        add(word);
        word_at = anew.size() - word.size();
        word_size = word.size();
    }
};

} // namespace ipybox::detail
