#pragma once

#include <ipybox/rules/impl/line_writer.hpp>
#include <ipybox/rules/shell_line.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// Reads a shell line from left to right; see `split_shell_line`. It reports syntax that it does not know, and goes on.
class shell_splitter {
  public:
    shell_splitter(std::string_view text, shell_line& found, inner_lines how)
        : shell_splitter(text, found, how, 0, 0) {}

    /// Reads to the end, and returns what was read, written anew.
    [[nodiscard]] std::string run() {
        std::string anew;
        while (!at_end()) {
            anew += list();
            if (!at_end()) { // a parenthesis that was not opened
                not_clear("a ) without its (");
                ++at_;
            }
        }
        return anew;
    }

  private:
    static constexpr int deepest = 32;

    /// A line in a line in a line …: from here on it is not understood.
    static constexpr int deepest_line = 8;

    enum class quotes { none, twofold };

    shell_splitter(std::string_view text, shell_line& found, inner_lines how, int depth, int lines)
        : text_(text), found_(found), how_(how), depth_(depth), lines_(lines) {
        if (lines_ >= deepest_line) not_clear("it nests too deeply");
        if (depth_ > deepest) {
            not_clear("it nests too deeply");
            at_ = text_.size();
        }
    }

    [[nodiscard]] bool at_end() const noexcept { return at_ >= text_.size(); }
    [[nodiscard]] char peek(std::size_t ahead = 0) const noexcept {
        return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
    }

    void not_clear(std::string_view what) {
        if (!found_.not_clear) found_.not_clear = what;
    }

    static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
    static bool begins_name(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

    /// Ends a word outside of quotes.
    static bool ends_word(char c) noexcept {
        return std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos;
    }

    /// Commands up to the end or to a parenthesis that closes, which is left. Returns them anew.
    std::string list() {
        std::string anew;
        written_command command;
        bool after_group = false; // what follows `( … )` can only be a redirection or an operator
        auto const end_command = [&] {
            anew += finished(std::exchange(command, {}), after_group);
            after_group = false;
        };
        while (!at_end() && peek() != ')') {
            char const c = peek();
            if (c == ' ' || c == '\t') {
                ++at_;
            } else if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '\n' && skips_here_document_) {
                at_ = text_.size(); // what follows is text, and commands again somewhere
            } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
                end_command();
                anew += separator();
            } else if (c == '(') {
                if (!command.anew.empty() || after_group) not_clear("a ( behind a word");
                if (peek(1) == '(') not_clear("((");
                end_command();
                anew += parentheses();
                after_group = true;
            } else if (c == '<' || c == '>' || (is_digit(c) && (peek(1) == '<' || peek(1) == '>'))) {
                redirection(command);
            } else {
                command_word(command);
                if (after_group) not_clear("a word behind a )");
            }
        }
        end_command();
        return anew;
    }

    /// Takes a command that has been read whole, and returns it anew.
    std::string finished(written_command command, bool after_group) {
        auto& read = command.read;
        if (command.anew.empty()) return {};
        if (read.words.empty() && read.assigned.empty() && !after_group) {
            // Some shells start a pager then, and `$(<f)` is the text of a file.
            if (command.reads_file) not_clear("a redirection without its command");
            command.anew.insert(0, "'true' ");
        }
        if (after_group) command.anew.insert(0, " ");
        auto const inner = how_ == inner_lines::unfolded && lines_ < deepest_line ? line_of(read) : std::nullopt;
        if (inner) {
            auto const line = shell_splitter(*inner, found_, how_, 0, lines_ + 1).run();
            command.anew.replace(command.word_at, command.word_size, in_single_quotes(line));
        } else if (!read.empty()) {
            found_.commands.push_back(std::move(read));
        }
        return std::move(command.anew);
    }

    /// `list` from a parenthesis to the one that closes it, anew with both.
    std::string parentheses() {
        ++at_;
        if (++depth_ > deepest) {
            not_clear("it nests too deeply");
            at_ = text_.size();
        }
        auto const anew = "( " + list() + " )"; // blanks, as `((` and `$((` are something else
        --depth_;
        if (at_end())
            not_clear("a ( without its )");
        else
            ++at_;
        return anew;
    }

    /// An operator between commands, anew.
    std::string separator() {
        char const c = text_[at_++];
        bool const doubled = c == peek() && (c == '&' || c == '|');
        if (doubled) ++at_;
        // `;;`, `;&`, `|&`, `&>`: each means something in one shell and something else, or nothing, in another.
        bool const odd = (c == ';' && (peek() == ';' || peek() == '&')) || (c == '|' && !doubled && peek() == '&') ||
                         (c == '&' && (peek() == '>' || (doubled && peek() == '&')));
        if (odd) not_clear(std::string("the operator ") + c + peek());
        if (c == '\n') return "\n";
        return ' ' + std::string(doubled ? 2 : 1, c) + ' ';
    }

    void redirection(written_command& command) {
        auto const begin = at_;
        if (is_digit(peek())) ++at_;
        char const c = text_[at_++];
        if (peek() == '(') {
            not_clear("process substitution");
            (void)parentheses();
            return;
        }
        if (c == '<' && peek() == '<') {
            not_clear("a here-document");
            skips_here_document_ = true;
            at_ += peek(1) == '<' || peek(1) == '-' ? 2u : 1u;
        }
        bool const duplicates = peek() == '&';
        bool const longer = duplicates || peek() == '>' || (c == '>' && peek() == '|');
        if (longer) ++at_;
        auto anew = std::string(text_.substr(begin, at_ - begin));
        while (peek() == ' ' || peek() == '\t') ++at_;
        auto const start = at_;
        auto target = word();
        if (at_ == start || text_[start] == '#') not_clear("a redirection without its file");
        auto const& text = target.read.text;
        bool const is_descriptor = target.read.literal && text.size() == 1 && (is_digit(text[0]) || text == "-");
        // A file, for some shells. And bash expands what it has expanded once more: `>&'$(x)'` runs x.
        if (duplicates && !is_descriptor) not_clear("& of a redirection without a descriptor");
        if (!duplicates && (!target.read.literal || text != "/dev/null")) {
            command.read.redirected = true;
            command.reads_file = command.reads_file || c == '<';
        }
        anew += is_descriptor ? text : target.anew.take();
        command.add(anew);
    }

    /// A word where commands are: an assignment, the name of a program, an argument.
    void command_word(written_command& command) {
        auto& words = command.read.words;
        if (words.empty() && assignment(command)) return;
        auto const start = at_;
        auto word = this->word();
        auto const raw = text_.substr(start, at_ - start);
        if (peek() == '<' || peek() == '>') {
            if (raw.find_first_not_of("0123456789") == std::string_view::npos)
                not_clear("a redirection whose number has several digits"); // dash takes the number for a word
            if (raw.starts_with('{')) not_clear("a redirection whose number goes into a variable"); // `{PATH}>`
        }
        if (words.empty() && is_reserved(word.read.text)) {
            not_clear("the reserved word " + word.read.text); // commands may follow it
            return;
        }
        if (words.empty() && !word.read.literal) not_clear("a command whose name is computed");
        words.push_back(std::move(word.read));
        command.add_word(word.anew.take());
    }

    /// `x=1` and `x+=1` before the name of a program.
    bool assignment(written_command& command) {
        std::size_t size = 0;
        while (begins_name(peek(size)) || (size > 0 && is_digit(peek(size)))) ++size;
        bool const appends = peek(size) == '+';
        if (size == 0 || peek(size + (appends ? 1 : 0)) != '=') return false;
        std::string const name(text_.substr(at_, size));
        at_ += size + (appends ? 2 : 1);
        auto value = word();
        command.read.assigned.push_back(name);
        // `x+=1` is a program for some shells.
        command.add(name + '=' + (appends ? "\"${" + name + "-}\"" : "") + value.anew.take());
        return true;
    }

    static bool is_reserved(std::string_view word) {
        static constexpr std::array<std::string_view, 24> reserved{
            "!",     "{",  "}",    "[[",   "]]",   "if", "then",   "else",     "elif", "fi",     "for",    "while",
            "until", "do", "done", "case", "esac", "in", "select", "function", "time", "coproc", "repeat", "foreach"};
        return std::find(reserved.begin(), reserved.end(), word) != reserved.end();
    }

    written_word word() {
        written_word all;
        auto const start = at_;
        all.has_tilde = tilde_follows();
        while (!at_end() && !ends_word(peek())) {
            char const c = text_[at_++];
            switch (c) {
            case '\'': single_quotes(all); break;
            case '"': double_quotes(all); break;
            case '\\': escaped(all); break;
            case '$': expansion(all, quotes::none); break;
            case '`': backticks(all, quotes::none); break;
            default: unquoted(all, c);
            }
        }
        auto const raw = text_.substr(start, at_ - start);
        if (raw == "[" || raw == "{}") all.read.literal = true; // alone they stand for nothing else
        if (all.read.literal) all.anew.become(all.read.text);
        return all;
    }

    void unquoted(written_word& all, char c) {
        check(c);
        if (makes_words(c)) all.read.literal = false;
        bool const is_bare = is_part_of_expansions(c) || (c == '=' && all.has_tilde);
        if (!is_bare) return all.add(c);
        all.read.text += c;
        all.anew.bare(c);
    }

    /// Characters that have a meaning in patterns, braces and behind a tilde, and none elsewhere in an argument.
    static bool is_part_of_expansions(char c) noexcept {
        return begins_name(c) || is_digit(c) || std::string_view("*?[]~{}!^-.,:/+%@").find(c) != std::string_view::npos;
    }

    /// bash expands the tilde of `make prefix=~/x`.
    [[nodiscard]] bool tilde_follows() const noexcept {
        std::size_t ahead = 0;
        while (at_ + ahead < text_.size() && !ends_word(peek(ahead)) && peek(ahead) != '~') ++ahead;
        return peek(ahead) == '~';
    }

    /// Patterns, tildes, braces; also letters that one shell may take for blanks, depending on the locale.
    static bool makes_words(char c) noexcept {
        return std::string_view("*?[~{}").find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80;
    }

    void check(char c) {
        auto const code = static_cast<unsigned char>(c);
        if ((code < 0x20 && c != '\t' && c != '\n') || code == 0x7F) not_clear("a control character");
    }

    /// Behind a backslash or backtick: in some alphabets (GBK, Shift-JIS) it may be the second half of a letter.
    void check_alphabet() {
        if (at_ >= 2 && static_cast<unsigned char>(text_[at_ - 2]) >= 0x80)
            not_clear("a backslash or backtick behind a letter that is not ASCII");
    }

    void single_quotes(written_word& all) {
        all.anew.open_quotes();
        for (; !at_end() && peek() != '\''; ++at_) {
            check(peek());
            all.add(peek());
        }
        close_quotes();
    }

    void double_quotes(written_word& all) {
        if (peek() == '"') all.anew.open_quotes(); // not around "$@", which may be no word
        while (!at_end() && peek() != '"') {
            char const c = text_[at_++];
            if (c == '$') {
                expansion(all, quotes::twofold);
            } else if (c == '`') {
                backticks(all, quotes::twofold);
            } else if (c == '\\' && std::string_view("$`\"\\\n").find(peek()) != std::string_view::npos) {
                escaped(all);
            } else {
                check(c);
                all.add(c);
            }
        }
        close_quotes();
    }

    void close_quotes() {
        if (at_end())
            not_clear("a quote without its end");
        else
            ++at_;
    }

    /// Behind a backslash.
    void escaped(written_word& all) {
        if (at_end()) return not_clear("a backslash at the end");
        check_alphabet();
        char const c = text_[at_++];
        if (c == '\n') return not_clear("a line that goes on behind a backslash");
        check(c);
        if (static_cast<unsigned char>(c) >= 0x80) all.read.literal = false; // the first byte of several
        all.add(c);
    }

    /// Behind a dollar sign.
    void expansion(written_word& all, quotes around) {
        all.read.literal = false;
        char const c = peek();
        auto const start = at_;
        auto const is_variable = [&](std::string_view what) {
            all.anew.expansion("${" + std::string(what) + '}', around == quotes::twofold);
        };
        if (c == '(') {
            if (peek(1) == '(') not_clear("arithmetic");
            all.anew.expansion('$' + parentheses(), around == quotes::twofold);
        } else if (c == '{') {
            ++at_;
            name();
            is_variable(text_.substr(start + 1, at_ - start - 1));
            if (peek() == '}')
                ++at_;
            else
                not_clear("${ } with more than a name");
        } else if (c == '[') {
            not_clear("$[");
        } else if (around == quotes::none && (c == '\'' || c == '"')) {
            not_clear(std::string("$") + c);
        } else if (begins_name(c)) {
            name();
            is_variable(text_.substr(start, at_ - start));
        } else if (c != '\0' && std::string_view("@*#?-$!0123456789").find(c) != std::string_view::npos) {
            ++at_;
            is_variable(text_.substr(start, 1));
        } else {
            all.add('$');
        }
    }

    void name() {
        while (begins_name(peek()) || is_digit(peek())) ++at_;
    }

    /// Behind a backtick.
    void backticks(written_word& all, quotes around) {
        all.read.literal = false;
        check_alphabet();
        auto const start = at_;
        while (!at_end() && peek() != '`') at_ += peek() == '\\' ? 2u : 1u;
        auto const end = std::min(at_, text_.size());
        auto const inner = text_.substr(start, end - start);
        if (at_end())
            not_clear("a ` without its end");
        else
            ++at_;
        if (inner.find('\\') != std::string_view::npos) not_clear("a backslash between backticks");
        if (around == quotes::twofold && inner.find('"') != std::string_view::npos)
            not_clear("quotes between quoted backticks");
        auto const anew = shell_splitter(inner, found_, how_, depth_ + 1, lines_).run();
        all.anew.expansion("$( " + anew + " )", around == quotes::twofold);
    }

    std::string_view text_;
    shell_line& found_;
    inner_lines how_;
    int depth_;
    int lines_;
    std::size_t at_ = 0;
    bool skips_here_document_ = false;
};

} // namespace ipybox::detail
