// What `sh` and `bash` start for a line has to be among the commands that the splitter found in it: of thousands of
// random lines, those that it claims to understand are run, with functions that record how they are called in place of
// programs.

#include <ipybox/rules/shell_line.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using ipybox::detail::shell_command;
using ipybox::detail::shell_line;
using words = std::vector<std::string>;

struct tried_line {
    std::string text;
    shell_line split;

    [[nodiscard]] bool redirects() const {
        return std::any_of(split.commands.begin(), split.commands.end(),
                           [](shell_command const& command) { return command.redirected; });
    }
};

/// Control characters that no line has: the ends of an argument, of a call, of a line.
constexpr char argument_end = '\037';
constexpr char call_end = '\036';
constexpr char line_end = '\035';

class line_maker {
  public:
    explicit line_maker(unsigned seed) : random_(seed) {}

    std::string operator()() {
        std::string text;
        auto const length = 1 + random_() % 14;
        bool const tame = random_() % 2 == 0;
        for (unsigned long i = 0; i < length; ++i) text += tame && random_() % 3 != 0 ? pick(commands) : pick(tokens);
        return text;
    }

  private:
    template <std::size_t N>
    std::string_view pick(std::array<std::string_view, N> const& from) {
        return from[random_() % N];
    }

    static constexpr std::array<std::string_view, 12> commands{"a ",   "b ",    "c ",   "a b ", ";a ",  "|b ",
                                                               "&&c ", "$(a) ", "x=1 ", "(b)",  "\nc ", "`a` "};
    static constexpr std::array<std::string_view, 70> tokens{"a",           "b",
                                                             "c",           "a ",
                                                             "b ",          "c ",
                                                             " ",           " ",
                                                             "\t",          "'",
                                                             "\"",          "\\",
                                                             "$",           "(",
                                                             ")",           "`",
                                                             ";",           "&",
                                                             "|",           "<",
                                                             ">",           "\n",
                                                             "#",           "=",
                                                             "{",           "}",
                                                             "!",           "*",
                                                             "~",           "0",
                                                             "1",           "12",
                                                             "[",           "]",
                                                             "?",           "-",
                                                             "+",           ",",
                                                             ":",           "@",
                                                             "%",           "^",
                                                             "..",          "$(",
                                                             "\"$",         "x=",
                                                             "&&",          "||",
                                                             "if",          "then",
                                                             "fi",          "do",
                                                             "in",          "'x y'",
                                                             "\"a b\"",     "$x",
                                                             "${x}",        "$@",
                                                             "\"$@\"",      " /dev/null ",
                                                             "2>&1",        "2>/dev/null ",
                                                             ">/dev/null ", ">&2",
                                                             "<<",          "$'",
                                                             "\xc3\xa9",    "`a`",
                                                             "$(b)",        "a=b "};

    std::mt19937 random_;
};

/// Lines that the splitter claims to understand.
std::vector<tried_line> understood_lines(unsigned seed, std::size_t count) {
    line_maker make(seed);
    std::vector<tried_line> lines;
    while (lines.size() < count) {
        auto text = make();
        auto split = ipybox::detail::split_shell_line(text);
        if (split.understood() && !split.commands.empty()) lines.push_back({std::move(text), std::move(split)});
    }
    return lines;
}

std::string single_quoted(std::string_view text) {
    std::string all = "'";
    for (char const c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

/// The script that runs the lines, each in a subshell of its own in an empty directory; a file that appears there is
/// recorded as a call of FILE.
void write_driver(std::ofstream out, std::vector<tried_line> const& lines, std::filesystem::path const& record) {
    auto const write = [](std::string const& name) { // one `write`, as background commands record at the same time
        return "printf '%s\\037' " + name + " \"$@\" '" + call_end + "' >&9";
    };
    out << "exec 9>" << record.native() << '\n';
    out << "command_not_found_handle() { " << write("") << "; }\n"; // of bash
    for (auto const* const name : {"a", "b", "c"}) out << name << "() { " << write(name) << "; }\n";
    out << "PATH=/nonexistent\n";
    for (auto const& line : lines) {
        // The end of the pipe is the end of all that was started, also in the background.
        out << "( eval " << single_quoted(line.text)
            << " ) 8>&1 </dev/null >/dev/null 2>&1 | while read -r end; do :; done\n";
        if (line.redirects())
            out << "PATH=/bin:/usr/bin rm -rf -- * .[!.]*\n";
        else
            out << "for f in * .[!.]*; do [ ! -e \"$f\" ] || printf '%s\\037' FILE \"$f\" '" << call_end
                << "' >&9; done\n";
        out << "printf '" << line_end << "' >&9\n";
    }
}

bool is_call_of(words const& call, shell_command const& command) {
    // possible[i]: the words so far may have become the first i arguments
    std::vector<bool> possible(call.size() + 1);
    possible[0] = true;
    for (auto const& word : command.words) {
        std::vector<bool> next(call.size() + 1);
        bool reached = false;
        for (std::size_t i = 0; i <= call.size(); ++i) {
            reached = reached || possible[i];
            if (!word.literal) next[i] = reached;
            if (word.literal && possible[i] && i < call.size() && call[i] == word.text) next[i + 1] = true;
        }
        possible = std::move(next);
    }
    return possible[call.size()];
}

std::vector<std::string> cut(std::string const& text, char end) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
        auto const stop = std::min(text.find(end, at), text.size());
        pieces.push_back(text.substr(at, stop - at));
        at = stop + 1;
    }
    return pieces;
}

/// Each call ends with an argument that is `call_end`.
std::vector<words> calls_in(std::string const& recorded) {
    std::vector<words> calls(1);
    for (auto& argument : cut(recorded, argument_end)) {
        if (argument == std::string(1, call_end))
            calls.emplace_back();
        else
            calls.back().push_back(std::move(argument));
    }
    calls.pop_back();
    return calls;
}

/// Runs the lines in the shell; returns how many calls were recorded.
std::size_t check_in_shell(std::string const& shell, std::vector<tried_line> const& lines) {
    ipybox::test::scratch_dir const scratch;
    auto const empty = scratch.path() / "empty";
    auto const record = scratch.path() / "record";
    auto const driver = scratch.path() / "driver";
    std::filesystem::create_directory(empty);
    write_driver(std::ofstream(driver, std::ios::binary), lines, record);
    auto const command =
        "cd " + empty.native() + " && env -i LC_ALL=C.UTF-8 timeout 100 " + shell + " " + driver.native();
    CHECK(std::system(command.c_str()) == 0);

    auto const recorded = ipybox::test::read_file(record);
    auto const of_lines = cut(recorded, line_end);
    CHECK(of_lines.size() == lines.size());
    std::size_t calls = 0;
    for (std::size_t i = 0; i < std::min(lines.size(), of_lines.size()); ++i) {
        for (auto const& call : calls_in(of_lines[i])) {
            ++calls;
            auto const& commands = lines[i].split.commands;
            bool const found = std::any_of(commands.begin(), commands.end(),
                                           [&call](shell_command const& known) { return is_call_of(call, known); });
            if (found) continue;
            std::string shown;
            for (auto const& argument : call) shown += "[" + argument + "]";
            FAIL_CHECK(shell << " ran " << shown << " for the line " << single_quoted(lines[i].text));
        }
    }
    return calls;
}

bool is_there(std::string const& shell) { return std::system((shell + " -c : 2>/dev/null").c_str()) == 0; }

} // namespace

TEST_CASE("shell_line: what shells start for random lines is among their commands", "[large]") {
    // Other lines: IPYBOX_TEST_SEED=2 unit_rules 'shell_line: what shells*'
    auto const* const seed = std::getenv("IPYBOX_TEST_SEED");
    auto const lines = understood_lines(seed ? static_cast<unsigned>(std::atoi(seed)) : 1, 1500);
    for (std::string const shell : {"sh", "bash"}) {
        CAPTURE(shell);
        if (is_there(shell)) CHECK(check_in_shell(shell, lines) > 1000);
    }
}
