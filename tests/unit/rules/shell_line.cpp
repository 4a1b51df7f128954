#include <ipybox/rules/shell_line.hpp>
#include <ipybox/rules/subject_commands.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using ipybox::detail::shell_command;
using ipybox::detail::shell_line;
using ipybox::detail::split_shell_line;

/// `word word?` with a question mark behind a word that is not literal, `x=` for an assignment, `>` for a redirection.
std::string shown(shell_command const& command) {
    std::string text;
    auto const add = [&text](std::string const& word) { text += (text.empty() ? "" : " ") + word; };
    for (auto const& name : command.assigned) add(name + "=");
    for (auto const& word : command.words) add("[" + word.text + (word.literal ? "]" : "]?"));
    if (command.redirected) add(">");
    return text;
}

std::vector<std::string> parts(std::string_view text) {
    std::vector<std::string> all;
    auto const line = ipybox::detail::split_shell_line(text);
    CAPTURE(std::string(text), line.not_clear.value_or("-"));
    CHECK(line.understood());
    for (auto const& command : line.commands) all.push_back(shown(command));
    return all;
}

using list = std::vector<std::string>;

} // namespace

TEST_CASE("shell_line: words and quotes") {
    CHECK(parts("ls") == list{"[ls]"});
    CHECK(parts("  ls\t-l  'my file' \"a b\" it\\'s ''") == list{"[ls] [-l] [my file] [a b] [it's] []"});
    CHECK(parts("a'b'\"c\"\\d") == list{"[abcd]"});
    CHECK(parts(R"(echo "a\"b\\c\$d\`e\f")") == list{R"([echo] [a"b\c$d`e\f])"});
    CHECK(parts("echo 'a\"$x`\\'") == list{"[echo] [a\"$x`\\]"});
    CHECK(parts("echo a#b '#c' # d ; rm x") == list{"[echo] [a#b] [#c]"});
    CHECK(parts("echo 'two\nlines'") == list{"[echo] [two\nlines]"});
    CHECK(parts("[ -f x ]") == list{"[[] [-f] [x] []]"});
    CHECK(parts("xargs -I {} x") == list{"[xargs] [-I] [{}] [x]"});
    CHECK(parts("echo a=b --x=y %1 @ ^ +") == list{"[echo] [a=b] [--x=y] [%1] [@] [^] [+]"});
    CHECK(parts("").empty());
    CHECK(parts(" \t\n # nothing\n\n").empty());
}

TEST_CASE("shell_line: what a shell makes something of is not literal") {
    CHECK(parts("ls $x \"$x\" ${x} a$1 $@ $? $$") == list{"[ls] []? []? []? [a]? []? []? []?"});
    CHECK(parts("ls *.py a? [ab] ~/x a~") == list{"[ls] [*.py]? [a?]? [[ab]]? [~/x]? [a~]?"});
    CHECK(parts("ls {a,b} a{1..3}") == list{"[ls] [{a,b}]? [a{1..3}]?"});
    CHECK(parts("ls '*.py' \\*  \"~\"") == list{"[ls] [*.py] [*] [~]"});
    CHECK(parts("echo $ \"$\" a$") == list{"[echo] [$]? [$]? [a$]?"});
    CHECK(parts("ls caf\u00e9 'caf\u00e9'") == list{"[ls] [caf\u00e9]? [caf\u00e9]"});
}

TEST_CASE("shell_line: operators part commands") {
    CHECK(parts("a && b || c; d | e & f\ng") == list{"[a]", "[b]", "[c]", "[d]", "[e]", "[f]", "[g]"});
    CHECK(parts("a&&b||c;d|e&f") == list{"[a]", "[b]", "[c]", "[d]", "[e]", "[f]"});
    CHECK(parts("a &&\n\n b |\n c;") == list{"[a]", "[b]", "[c]"});
    CHECK(parts("a 'b;c' \"d&&e\" f\\|g") == list{"[a] [b;c] [d&&e] [f|g]"});
}

TEST_CASE("shell_line: subshells and substitutions are gone into") {
    CHECK(parts("(a; b) && ( (c) )") == list{"[a]", "[b]", "[c]"});
    CHECK(parts("a $(b c) \"$(d)\" `e` \"`f`\"") == list{"[b] [c]", "[d]", "[e]", "[f]", "[a] []? []? []? []?"});
    CHECK(parts("a $(b $(c \"$(d)\"))") == list{"[d]", "[c] []?", "[b] []?", "[a] []?"});
    CHECK(parts("x=$(a) y=`b`") == list{"[a]", "[b]", "x= y="});
    CHECK(parts("a '$(b)' '`c`' \"\\$(d)\" \\`e\\`") == list{"[a] [$(b)] [`c`] [$(d)] [`e`]"});
    CHECK(parts("(a) > /dev/null 2>&1 | b") == list{"[a]", "[b]"});
    CHECK(parts("a $( # comment )\n b )") == list{"[b]", "[a] []?"});
}

TEST_CASE("shell_line: assignments are taken off") {
    CHECK(parts("A=1 B='x y' ls A=2") == list{"A= B= [ls] [A=2]"});
    CHECK(parts("A=1; ls") == list{"A=", "[ls]"});
    CHECK(parts("PATH=/evil:$PATH ls") == list{"PATH= [ls]"});
    CHECK(parts("A+=1 ls") == list{"A= [ls]"});
    CHECK(parts("'A'=1 ls") == list{"[A=1] [ls]"});
    CHECK(parts("1A=1 ls") == list{"[1A=1] [ls]"});
}

TEST_CASE("shell_line: redirections are told apart from words") {
    CHECK(parts("a > f b") == list{"[a] [b] >"});
    CHECK(parts("a>f") == list{"[a] >"});
    for (auto const* const text : {"a >> f", "a < f", "a 2> f", "a <> f", "a >| f", "a > $x", "a > \"f g\""}) {
        CAPTURE(text);
        CHECK(parts(text) == list{"[a] >"});
    }
    for (auto const* const text : {"a >/dev/null", "a 2>&1", "a 2>/dev/null >&2", "a </dev/null", "a >&-", "a 0<&3"}) {
        CAPTURE(text);
        CHECK(parts(text) == list{"[a]"});
    }
    CHECK(parts("a 2 >f") == list{"[a] [2] >"});
    CHECK(parts("a '2'>f") == list{"[a] [2] >"});
    CHECK(parts("> f") == list{">"});
    CHECK(parts("a > $(b)") == list{"[b]", "[a] >"});
}

TEST_CASE("shell_line: what is not known to mean the same everywhere is not understood") {
    for (std::string_view const text : {"for i in a b; do rm $i; done",
                                        "if a; then b; fi",
                                        "while a; do b; done",
                                        "case x in x) a;; esac",
                                        "{ a; }",
                                        "! a",
                                        "time a",
                                        "function f { a; }",
                                        "f() { a; }",
                                        "[[ a && b ]]",
                                        "((a))",
                                        "echo $((1+1))",
                                        "echo $[1+1]",
                                        "cat <<EOF\nrm x\nEOF",
                                        "cat <<-EOF\nEOF",
                                        "cat <<< x",
                                        "a <(b)",
                                        "a >(b)",
                                        "a &> f",
                                        "a &>> f",
                                        "a |& b",
                                        "a >&f",
                                        "a >&$x",
                                        "a >&'$(b)'",
                                        "a ;; b",
                                        "echo ${x:-y}",
                                        "echo ${x:-$(rm y)}",
                                        "echo ${!x}",
                                        "echo $'a'",
                                        "echo $\"a\"",
                                        "a=(b)",
                                        "a @(b)",
                                        "$x a",
                                        "\"$x\" a",
                                        "$(a) b",
                                        "*/a",
                                        "{a,b}",
                                        "a \\\n b",
                                        "\"a\\\nb\"",
                                        "a\\",
                                        "'a",
                                        "\"a",
                                        "`a",
                                        "`a \\`b\\``",
                                        "\"`a \"b\"`\"",
                                        "$(a",
                                        "(a",
                                        "a)",
                                        "(a) b",
                                        "a (b)",
                                        "a >",
                                        "a > #f",
                                        "echo {PATH}>/dev/null",
                                        "echo {PATH}<&0",
                                        "{PATH}>&1 a",
                                        "a {PATH[0]}>>/dev/null",
                                        "a $(<f)",
                                        "a 12> f",
                                        "a\rb",
                                        "a\x01"
                                        "b",
                                        "a '\x7f'",
                                        "a \"\u4e2d\\\" ; rm x #\""}) {
        CAPTURE(std::string(text));
        CHECK_FALSE(ipybox::detail::split_shell_line(text).understood());
    }
    CHECK_FALSE(ipybox::detail::split_shell_line(std::string_view("a\0b", 3)).understood());
}

TEST_CASE("shell_line: what is not understood is split as well as it can") {
    auto const commands = [](std::string_view text) {
        list all;
        for (auto const& command : ipybox::detail::split_shell_line(text).commands) all.push_back(shown(command));
        return all;
    };
    CHECK(commands("for i in a; do rm $i; done") == list{"[i] [in] [a]", "[rm] []?"});
    CHECK(commands("if a; then rm x; fi") == list{"[a]", "[rm] [x]"});
    CHECK(commands("! rm x") == list{"[rm] [x]"});
    CHECK(commands("a <(rm x)") == list{"[rm] [x]", "[a]"});
    CHECK(commands("cat <<EOF; rm x\nrm y\nEOF\n") == list{"[cat] >", "[rm] [x]"}); // text is no command
}

TEST_CASE("shell_line: a line is written anew so that all shells read what was read here") {
    auto const anew = [](std::string_view text) {
        auto const line = ipybox::detail::split_shell_line(text, ipybox::detail::inner_lines::unfolded);
        CHECK(line.understood());
        return line.anew;
    };
    CHECK(anew("ls -l 'my file' \"a b\" it\\'s ''") == "'ls' '-l' 'my file' 'a b' 'it'\\''s' ''");
    CHECK(anew("a && b||c;d | e & f\ng") == "'a' && 'b' || 'c' ; 'd' | 'e' & 'f'\n'g'");
    CHECK(anew("ls *.py ~/x \"$x\" $y$? a=~/b {1..3} \"$@\" \"\"*") ==
          "'ls' *.py ~/x \"${x}\" ${y}${?} a=~/b {1..3} \"${@}\" ''*");
    CHECK(anew("ls x=$y[a]\xc3\xa9") == "'ls' x'='${y}[a]'\xc3\xa9'");
    CHECK(anew("A=1 B=~/x:$y C+=z ls D=1") == "A='1' B=~/x:${y} C=\"${C-}\"'z' 'ls' 'D=1'");
    CHECK(anew("a $(b \"$(c)\" `d`) # e\nf") == "'a' $( 'b' \"$( 'c' )\" $( 'd' ) )\n'f'");
    CHECK(anew("(a; b) 2>/dev/null >&2") == "( 'a' ; 'b' ) 2>'/dev/null' >&2");
    CHECK(anew("2>&1 a >> /dev/null 3>&-; x>/dev/null") == "2>&1 'a' >>'/dev/null' 3>&- ; 'x' >'/dev/null'");
    CHECK(anew(">/dev/null") == "'true' >'/dev/null'");
    CHECK(anew("sh -c 'a \"b c\"' 2>&1; d") == R"('sh' '-c' ''\''a'\'' '\''b c'\''' 2>&1 ; 'd')");
    CHECK(anew("'{PATH}'>/dev/null a") == "'{PATH}' >'/dev/null' 'a'");
}

TEST_CASE("shell_line: what is accepted for its commands is run anew, scripts from their beginning to their end") {
    using ipybox::detail::as_judged;
    ipybox::approval_subject subject;
    subject.kind = ipybox::approval_subject::action::shell;
    subject.argv = {"bash", "-c", "a b"};
    CHECK(as_judged(subject)->argv == list{"bash", "-c", "'a' 'b'"});
    subject.argv = {"/bin/sh", "-c", "a " + std::string(40'000, 'b')};
    CHECK(as_judged(subject)->argv == list{"/bin/sh"});
    CHECK(as_judged(subject)->input.starts_with("{ 'a' 'bbb"));
    subject.argv = {"bash"};
    subject.input = "a\nb\n";
    CHECK(as_judged(subject)->argv == list{"bash"});
    CHECK(as_judged(subject)->input == "{ 'a'\n'b'\n\n'exit'\n} </dev/null\n");
    subject.input = "for i in a; do b; done";
    CHECK_FALSE(as_judged(subject));
    subject.argv = {"ls -l", "$x"}; // words, of which no shell makes anything
    subject.input.clear();
    CHECK(as_judged(subject)->argv == subject.argv);
}

TEST_CASE("shell_line: depth and length have their bounds") {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "$(";
    CHECK_FALSE(ipybox::detail::split_shell_line(deep).understood());
    CHECK_FALSE(ipybox::detail::split_shell_line(std::string(100'000, '(')).understood());
    CHECK_FALSE(ipybox::detail::split_shell_line(std::string(100'001, '`')).understood());
    std::string many;
    for (int i = 0; i < 100'000; ++i) many += "a;";
    CHECK(ipybox::detail::split_shell_line(many).commands.size() == 100'000);
}

TEST_CASE("shell_line: 32 levels are understood, and one more is not") {
    auto const nested = [](int levels, std::string const& open, std::string const& close) {
        std::string line = "a";
        for (int i = 0; i < levels; ++i) line = open + line + close;
        return ipybox::detail::split_shell_line(line);
    };
    for (auto const& [open, close] : {std::pair("( ", " )"), std::pair("b $( ", " )")}) {
        CAPTURE(open);
        CHECK(nested(32, open, close).understood());
        auto const deeper = nested(33, open, close);
        CHECK_FALSE(deeper.understood());
        REQUIRE(deeper.not_clear);
        CHECK(ipybox::test::contains(*deeper.not_clear, "nests too deeply"));
    }
}
