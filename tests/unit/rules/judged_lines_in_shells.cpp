// Where rules allow a line, only what they looked at may run: random lines, full of what shells read in different ways,
// are judged, and those that are allowed are run by bash, dash and zsh as the program runs them. Everything that starts
// is recorded, and has to be among the commands that the judge has listed.

#include <ipybox/rules/approval_rules.hpp>
#include <ipybox/rules/impl/line_writer.hpp>
#include <ipybox/rules/subject_commands.hpp>

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

using ipybox::approval_rules;
using ipybox::approval_subject;
using ipybox::detail::shell_command;
using words = std::vector<std::string>;

/// Control characters that no line has: the ends of an argument, of a call, of a line.
constexpr char end_of_argument = '\037';
constexpr char end_of_call = '\036';
constexpr char end_of_line = '\035';

/// Lines from a grammar of shells, with mistakes in them.
class judged_line_maker {
  public:
    explicit judged_line_maker(unsigned seed) : random_(seed) {}

    std::string operator()() {
        auto text = list(0);
        if (!text.empty() && chance(4)) { // some letters that are others
            auto const at = random_() % text.size();
            text.replace(at, random_() % 3, pick(odd));
        }
        return text;
    }

  private:
    template <std::size_t N>
    std::string pick(std::array<std::string_view, N> const& from) {
        return std::string(from[random_() % N]);
    }

    bool chance(unsigned one_in) { return random_() % one_in == 0; }

    std::string list(int depth) {
        auto text = command(depth);
        for (auto more = random_() % (depth == 0 ? 4 : 2); more > 0; --more) text += pick(operators) + command(depth);
        return chance(12) ? text + pick(operators) : text;
    }

    std::string command(int depth) {
        if (depth < 3 && chance(9)) return "(" + list(depth + 1) + ")" + (chance(3) ? pick(redirections) : "");
        if (chance(30)) return pick(redirections);
        std::string text;
        while (chance(8)) text += pick(assignments) + (chance(2) ? word(depth) : "") + " ";
        if (chance(12)) text += pick(redirections) + " ";
        text += program(depth);
        for (auto more = random_() % 4; more > 0; --more)
            text += (chance(8) ? "" : " ") + (chance(4) ? pick(redirections) : word(depth));
        return text;
    }

    std::string program(int depth) {
        if (chance(25)) return pick(shells) + " -c " + quoted(list(depth + 2));
        if (chance(25)) return word(depth);
        return pick(programs);
    }

    std::string word(int depth) {
        std::string text;
        do {
            switch (random_() % 9) {
            case 0: text += quoted(pick(nasty)); break;
            case 1: text += "\"" + pick(harmless) + (depth < 3 && chance(3) ? expansion(depth) : "") + "\""; break;
            case 2: text += expansion(depth); break;
            case 3: text += pick(patterns); break;
            case 4: text += pick(escaped); break;
            case 5: text += pick(nasty); break;
            default: text += pick(harmless);
            }
        } while (chance(3));
        return text;
    }

    std::string expansion(int depth) {
        if (depth > 2 || chance(2)) return pick(variables);
        return chance(3) ? "`" + pick(programs) + " x`" : "$(" + list(depth + 1) + ")";
    }

    static std::string quoted(std::string_view text) { return ipybox::detail::in_single_quotes(text); }

    static constexpr std::array<std::string_view, 9> operators{" && ", " || ", "; ", " | ", " & ",
                                                               "\n",   "&&",   ";",  "|"};
    static constexpr std::array<std::string_view, 20> programs{"a",    "b", "c",  "a",    "b",      "p",   "echo",
                                                               "true", ":", "cd", "test", "printf", "pwd", "[",
                                                               "type", "p", "c",  "'a'",  "\"b\"",  "\\a"};
    static constexpr std::array<std::string_view, 4> shells{"sh", "bash", "dash", "/bin/sh"};
    static constexpr std::array<std::string_view, 6> assignments{"X=", "Y=", "X+=", "X=1", "PATH=", "X=~/"};
    static constexpr std::array<std::string_view, 26> redirections{">/dev/null",
                                                                   " 2>&1",
                                                                   " 2>/dev/null",
                                                                   "{PATH}>/dev/null",
                                                                   " {PATH}>&1",
                                                                   " {PATH}<&0",
                                                                   "{X}<&0",
                                                                   ">&-",
                                                                   "3>&1",
                                                                   "<>/dev/null",
                                                                   ">|/dev/null",
                                                                   "&>/dev/null",
                                                                   "<&0",
                                                                   " 2>&1 1>&2",
                                                                   ">>/dev/null",
                                                                   "10>/dev/null",
                                                                   "</dev/null",
                                                                   " > '/dev/null'",
                                                                   ">&2",
                                                                   " 1>& 2",
                                                                   "{PATH}>>/dev/null",
                                                                   "'{PATH}'>&2",
                                                                   "0<&1",
                                                                   ">/dev/null{PATH}>&2",
                                                                   "{PATH[0]}>&1",
                                                                   " {a[$(z)]}>&1"};
    static constexpr std::array<std::string_view, 16> harmless{"x", "y", "1",  "2",   "-l", "a.py", "x=1", "--x=y",
                                                               "/", ".", "..", "x/y", "-",  "%1",   "@",   ""};
    static constexpr std::array<std::string_view, 30> patterns{
        "*",     "?",           "[a-z]", "*.py", "~",      "~/x", "~root", "{a,z}", "{1..3}",      "{}",
        "{x",    "}",           "[",     "]",    "[!a]*",  "**",  "[^z]",  "{z}",   "X=~/z",       "*=~",
        "{,-v}", "[[:alpha:]]", "~+",    "x~",   "{$X,z}", "*/p", "10/*",  "=z",    "{PATH,X}=10", "1?"};
    static constexpr std::array<std::string_view, 14> variables{"$X", "${X}", "$?",  "$#", "$@",  "$*",   "$$",
                                                                "$-", "$0",   "$10", "$",  "$_z", "${#}", "${X}z"};
    static constexpr std::array<std::string_view, 12> escaped{"\\;", "\\z", "\\'", "\\\"", "\\$X", "\\*",
                                                              "\\~", "\\#", "\\ ", "\\&",  "\\(",  "\\\\"};
    static constexpr std::array<std::string_view, 40> nasty{
        "$(z)",  "`z`",    ";z",         "&z",       "|z",     "#z",      "\nz\n",     "z",
        "if",    "!",      "{",          "}",        "{PATH}", "PATH=10", "-v",        "a[$(z)]",
        "10",    "!!",     "=z",         "^z^a",     "<(z)",   ">z",      "$'z'",      "'",
        "\\",    "\"",     "~z",         "\xc3\xa9", "\x81",   "\x82z",   "\x88'",     "\xff",
        "\xa0z", "$((z))", "${X:-$(z)}", "time",     "[[",     "%z",      "alias a=z", "\xe2\x80\xa8z"};
    static constexpr std::array<std::string_view, 34> odd{
        "z", "'", "\"", "\\", "$", "(", ")", "`", ";", "&", "|",  "<",  ">",       "\n", "#",  "=",  "{",
        "}", "!", "*",  "~",  "1", "[", "]", "-", ",", " ", "\t", "\r", "{PATH}>", "$(", "&&", "<<", "\xc3"};

    std::mt19937 random_;
};

/// A directory with programs that record how they are called, and with files whose names are traps.
class judged_yard {
  public:
    judged_yard() {
        std::filesystem::create_directories(path() / "work");
        for (auto const* const name : {"a", "b", "c", "p", "z"}) write_program(std::string("bin/") + name, "${0##*/}");
        for (int number = 1; number < 30; ++number) // what `{PATH}>` would make the PATH of
            for (auto const* const name : {"/a", "/p", "/z", "/ls"})
                write_program("work/" + std::to_string(number) + name, "EVIL");
        for (auto const* const name :
             {"-v", "a[$(z)]", "$(z)", "`z`", ";z", "{PATH}", "PATH=10", "x.py", "X+=1", "x y", "&z"})
            std::ofstream(path() / "work" / name) << "";
    }

    [[nodiscard]] std::filesystem::path const& path() const { return scratch_.path(); }
    [[nodiscard]] std::filesystem::path record() const { return path() / "record"; }

    /// Text of a shell that records a call by the name.
    [[nodiscard]] std::string recording(std::string const& name) const {
        return "printf '%s\\037' " + name + " \"$@\" '" + end_of_call + "' >>" + record().native();
    }

  private:
    void write_program(std::string const& file, std::string const& name) {
        std::filesystem::create_directories((path() / file).parent_path());
        scratch_.write(file, "#!/bin/sh\n" + recording(name) + "\n");
        std::filesystem::permissions(path() / file, std::filesystem::perms::owner_all);
    }

    ipybox::test::scratch_dir scratch_;
};

struct judged_line {
    approval_subject subject;
    ipybox::detail::shell_line listed;
    std::string run; ///< what the shell gets
};

approval_rules rules_of_programs() {
    std::string allow;
    for (auto const* const name :
         {"a", "b", "c", "p", "echo", "true", ":", "cd", "test", "printf", "pwd", "[", "type", "false"})
        allow += std::string(allow.empty() ? "" : ",") + R"({"argv":[")" + name + R"(","**"],"env":["X","Y"]})";
    auto read = approval_rules::parse("{\"allow\":[" + allow + "]}");
    REQUIRE(read);
    return *read;
}

std::vector<judged_line> allowed_lines(unsigned seed, std::size_t count) {
    auto const rules = rules_of_programs();
    judged_line_maker make(seed);
    std::vector<judged_line> lines;
    while (lines.size() < count) {
        approval_subject subject;
        subject.kind = approval_subject::action::shell;
        subject.argv = {"/bin/sh", "-c", make()};
        subject.cwd = "/work";
        if (rules.judge(subject).effect != approval_rules::effect::allow) continue;
        auto const judged = ipybox::detail::as_judged(subject);
        REQUIRE(judged);
        REQUIRE(judged->argv.size() == 3);
        lines.push_back({subject, ipybox::detail::commands_of(subject), judged->argv[2]});
    }
    return lines;
}

/// The script that runs the lines, each in a subshell of its own.
void write_driver(std::ofstream out, std::vector<std::string> const& lines, judged_yard const& yard) {
    for (auto const* const name : {"a", "b", "c"}) out << name << "() { " << yard.recording(name) << "; }\n";
    out << "PATH=" << yard.path().native() << "/bin:/bin:/usr/bin; export PATH\n";
    auto const in_yard = "cd " + (yard.path() / "work").native() + "; eval ";
    for (auto const& line : lines) {
        bool const has_background = line.find(" & ") != std::string::npos;
        out << "( " << in_yard << ipybox::detail::in_single_quotes(line) << " ) ";
        // The end of the pipe is the end of all that was started, also in the background.
        if (has_background)
            out << "7>&1 </dev/null >/dev/null 2>&1 | while read -r end; do :; done\n";
        else
            out << "</dev/null >/dev/null 2>&1\n";
        out << "printf '" << end_of_line << "' >>" << yard.record().native() << '\n';
    }
}

bool is_judged_call_of(words const& call, shell_command const& command) {
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

std::vector<std::string> cut_at(std::string const& text, char end) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
        auto const stop = std::min(text.find(end, at), text.size());
        pieces.push_back(text.substr(at, stop - at));
        at = stop + 1;
    }
    return pieces;
}

std::vector<words> judged_calls_in(std::string const& recorded) {
    std::vector<words> calls(1);
    for (auto& argument : cut_at(recorded, end_of_argument)) {
        if (argument == std::string(1, end_of_call))
            calls.emplace_back();
        else
            calls.back().push_back(std::move(argument));
    }
    calls.pop_back();
    return calls;
}

std::string shown(words const& call) {
    std::string text;
    for (auto const& argument : call) text += "[" + argument + "]";
    return text;
}

/// The calls of each line.
std::vector<std::vector<words>> run_in(std::string const& shell, std::vector<std::string> const& lines,
                                       judged_yard const& yard) {
    std::filesystem::remove(yard.record());
    auto const driver = yard.path() / "driver";
    write_driver(std::ofstream(driver, std::ios::binary), lines, yard);
    auto const command =
        "env -i LC_ALL=C.UTF-8 HOME=/home/z timeout 7000 " + shell + " " + driver.native() + " >/dev/null 2>&1";
    CHECK(std::system(command.c_str()) == 0);
    std::vector<std::vector<words>> calls;
    for (auto const& recorded : cut_at(ipybox::test::read_file(yard.record()), end_of_line))
        calls.push_back(judged_calls_in(recorded));
    CHECK(calls.size() == lines.size());
    calls.resize(lines.size());
    return calls;
}

bool is_listed(words const& call, judged_line const& line) {
    return std::any_of(line.listed.commands.begin(), line.listed.commands.end(),
                       [&call](shell_command const& known) { return is_judged_call_of(call, known); });
}

std::size_t number_from(char const* variable, std::size_t usual) {
    auto const* const given = std::getenv(variable);
    return given ? static_cast<std::size_t>(std::atoll(given)) : usual;
}

bool is_shell_there(std::string const& shell) { return std::system((shell + " -c : 2>/dev/null").c_str()) == 0; }

} // namespace

TEST_CASE("rules: of a line that they allow nothing runs that they did not list", "[large]") {
    // Others, and more of them: IPYBOX_TEST_SEED=2 IPYBOX_TEST_LINES=100000 unit_rules 'rules: of a line*'
    auto const seed = static_cast<unsigned>(number_from("IPYBOX_TEST_SEED", 1));
    auto const lines = allowed_lines(seed, number_from("IPYBOX_TEST_LINES", 5000));
    judged_yard const yard;
    std::vector<std::string> texts;
    std::vector<std::string> originals;
    for (auto const& line : lines) {
        texts.push_back(line.run);
        originals.push_back(line.subject.argv[2]);
    }
    // The yard can tell: this line is not allowed, as bash puts the number of a descriptor into PATH.
    std::string const trap = "true {PATH}>/dev/null; p";
    if (is_shell_there("bash")) CHECK(run_in("bash", {trap}, yard) == std::vector<std::vector<words>>{{{"EVIL"}}});
    for (std::string const shell : {"bash", "dash", "zsh --emulate sh"}) {
        auto const* const only = std::getenv("IPYBOX_TEST_SHELL");
        if (!is_shell_there(shell) || (only && !shell.starts_with(only))) continue;
        auto const calls = run_in(shell, texts, yard);
        std::size_t count = 0;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            for (auto const& call : calls[i]) {
                ++count;
                if (is_listed(call, lines[i])) continue;
                FAIL_CHECK(shell << " ran " << shown(call) << " for the line " << originals[i] << "\nas " << texts[i]);
            }
        }
        CAPTURE(shell, count);
        CHECK(count > lines.size() / 2);
        if (!std::getenv("IPYBOX_TEST_ORIGINALS")) continue;
        auto const before = run_in(shell, originals, yard);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (originals[i].find("$$") != std::string::npos || originals[i].find("+=") != std::string::npos) continue;
            auto was = before[i];
            auto is = calls[i];
            std::sort(was.begin(), was.end());
            std::sort(is.begin(), is.end());
            if (was == is) continue;
            std::string all;
            for (auto const& call : was) all += shown(call) + " ";
            all += "\nbut ";
            for (auto const& call : is) all += shown(call) + " ";
            WARN(shell << " ran " << all << "\nfor the line " << originals[i] << "\nas " << texts[i]);
        }
    }
}
