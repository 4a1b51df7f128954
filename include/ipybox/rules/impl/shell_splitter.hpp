#pragma once

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
    shell_splitter(std::string_view text, shell_line& found, int depth) : text_(text), found_(found), depth_(depth) {
        if (depth_ > deepest) {
            not_clear("it nests too deeply");
            at_ = text_.size();
        }
    }

    /// Reads to the end.
    void run() {
        while (!at_end()) {
            list();
            if (!at_end()) { // a parenthesis that was not opened
                not_clear("a ) without its (");
                ++at_;
            }
        }
    }

  private:
    static constexpr int deepest = 32;

    enum class quotes { none, twofold };

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

    /// Commands up to the end or to a parenthesis that closes, which is left.
    void list() {
        shell_command command;
        bool after_group = false; // what follows `( … )` can only be a redirection or an operator
        auto const end_command = [&] {
            if (!command.empty()) found_.commands.push_back(std::exchange(command, {}));
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
                separator();
            } else if (c == '(') {
                if (!command.empty() || after_group) not_clear("a ( behind a word");
                if (peek(1) == '(') not_clear("((");
                end_command();
                parentheses();
                after_group = true;
            } else if (c == '<' || c == '>') {
                redirection(command);
            } else {
                bool const is_word = command_word(command);
                if (is_word && after_group) not_clear("a word behind a )");
            }
        }
        end_command();
    }

    /// `list` from a parenthesis to the one that closes it.
    void parentheses() {
        ++at_;
        if (++depth_ > deepest) {
            not_clear("it nests too deeply");
            at_ = text_.size();
        }
        list();
        --depth_;
        if (at_end())
            not_clear("a ( without its )");
        else
            ++at_;
    }

    void separator() {
        char const c = text_[at_++];
        bool const doubled = c == peek() && (c == '&' || c == '|');
        if (doubled) ++at_;
        // `;;`, `;&`, `|&`, `&>`: each means something in one shell and something else, or nothing, in another.
        bool const odd = (c == ';' && (peek() == ';' || peek() == '&')) || (c == '|' && !doubled && peek() == '&') ||
                         (c == '&' && (peek() == '>' || (doubled && peek() == '&')));
        if (odd) not_clear(std::string("the operator ") + c + peek());
    }

    void redirection(shell_command& command) {
        char const c = text_[at_++];
        if (peek() == '(') {
            not_clear("process substitution");
            parentheses();
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
        while (peek() == ' ' || peek() == '\t') ++at_;
        auto const start = at_;
        auto const target = word();
        if (at_ == start || text_[start] == '#') not_clear("a redirection without its file");
        bool const is_descriptor =
            target.literal && target.text.size() == 1 && (is_digit(target.text[0]) || target.text == "-");
        // A file, for some shells. And bash expands what it has expanded once more: `>&'$(x)'` runs x.
        if (duplicates && !is_descriptor) not_clear("& of a redirection without a descriptor");
        if (!duplicates && (!target.literal || target.text != "/dev/null")) command.redirected = true;
    }

    /// A word where commands are: an assignment, the name of a program, an argument. False for the number of a
    /// redirection.
    bool command_word(shell_command& command) {
        auto const start = at_;
        auto word = this->word();
        auto const raw = text_.substr(start, at_ - start);
        bool const is_number = raw.find_first_not_of("0123456789") == std::string_view::npos;
        if (is_number && (peek() == '<' || peek() == '>')) {
            if (raw.size() == 1) return false;                          // `2>`
            not_clear("a redirection whose number has several digits"); // dash takes the number for a word
        }
        if (!command.words.empty()) {
            command.words.push_back(std::move(word));
            return true;
        }
        if (auto const name = assigned_name(raw); !name.empty()) {
            command.assigned.emplace_back(name);
        } else if (is_reserved(word.text)) {
            not_clear("the reserved word " + word.text); // commands may follow it
        } else {
            if (!word.literal) not_clear("a command whose name is computed");
            command.words.push_back(std::move(word));
        }
        return true;
    }

    /// "x" of `x=1` and `x+=1`; empty for a word that assigns nothing.
    static std::string_view assigned_name(std::string_view raw) {
        std::size_t end = 0;
        while (end < raw.size() && (begins_name(raw[end]) || (end > 0 && is_digit(raw[end])))) ++end;
        auto const rest = raw.substr(end);
        return end > 0 && (rest.starts_with("=") || rest.starts_with("+=")) ? raw.substr(0, end) : std::string_view();
    }

    static bool is_reserved(std::string_view word) {
        static constexpr std::array<std::string_view, 24> reserved{
            "!",     "{",  "}",    "[[",   "]]",   "if", "then",   "else",     "elif", "fi",     "for",    "while",
            "until", "do", "done", "case", "esac", "in", "select", "function", "time", "coproc", "repeat", "foreach"};
        return std::find(reserved.begin(), reserved.end(), word) != reserved.end();
    }

    shell_word word() {
        shell_word read;
        auto const start = at_;
        while (!at_end() && !ends_word(peek())) {
            char const c = text_[at_++];
            switch (c) {
            case '\'': single_quotes(read); break;
            case '"': double_quotes(read); break;
            case '\\': escaped(read); break;
            case '$': expansion(read, quotes::none); break;
            case '`': backticks(read, quotes::none); break;
            default:
                check(c);
                if (makes_words(c)) read.literal = false;
                read.text += c;
            }
        }
        auto const raw = text_.substr(start, at_ - start);
        if (raw == "[" || raw == "{}") read.literal = true; // alone they stand for nothing else
        return read;
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

    void single_quotes(shell_word& read) {
        for (; !at_end() && peek() != '\''; ++at_) {
            check(peek());
            read.text += peek();
        }
        close_quotes();
    }

    void double_quotes(shell_word& read) {
        while (!at_end() && peek() != '"') {
            char const c = text_[at_++];
            if (c == '$') {
                expansion(read, quotes::twofold);
            } else if (c == '`') {
                backticks(read, quotes::twofold);
            } else if (c == '\\' && std::string_view("$`\"\\\n").find(peek()) != std::string_view::npos) {
                escaped(read);
            } else {
                check(c);
                read.text += c;
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
    void escaped(shell_word& read) {
        if (at_end()) return not_clear("a backslash at the end");
        check_alphabet();
        char const c = text_[at_++];
        if (c == '\n') return not_clear("a line that goes on behind a backslash");
        check(c);
        if (static_cast<unsigned char>(c) >= 0x80) read.literal = false; // the first byte of several
        read.text += c;
    }

    /// Behind a dollar sign.
    void expansion(shell_word& read, quotes around) {
        read.literal = false;
        char const c = peek();
        if (c == '(') {
            if (peek(1) == '(') not_clear("arithmetic");
            parentheses();
        } else if (c == '{') {
            ++at_;
            name();
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
        } else if (c != '\0' && std::string_view("@*#?-$!0123456789").find(c) != std::string_view::npos) {
            ++at_;
        } else {
            read.text += '$';
        }
    }

    void name() {
        while (begins_name(peek()) || is_digit(peek())) ++at_;
    }

    /// Behind a backtick.
    void backticks(shell_word& read, quotes around) {
        read.literal = false;
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
        shell_splitter(inner, found_, depth_ + 1).run();
    }

    std::string_view text_;
    shell_line& found_;
    int depth_;
    std::size_t at_ = 0;
    bool skips_here_document_ = false;
};

} // namespace ipybox::detail
