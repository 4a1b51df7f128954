#include <ipybox/rules/approval_rules.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using ipybox::approval_rules;
using ipybox::approval_subject;
using ipybox::test::contains;
using ipybox::test::shell_subject;
using ipybox::test::tool_subject;
using nlohmann::json;

approval_rules rules_of(std::string_view text) {
    auto read = approval_rules::parse(text);
    if (!read) FAIL(read.error().text());
    return *read;
}

std::string effect(approval_rules const& rules, approval_subject const& subject) {
    switch (rules.judge(subject).effect) {
    case approval_rules::effect::allow: return "allow";
    case approval_rules::effect::ask: return "ask";
    case approval_rules::effect::deny: return "deny";
    }
    return "?";
}

std::string effect(approval_rules const& rules, std::string line) {
    return effect(rules, shell_subject(std::move(line)));
}

} // namespace

TEST_CASE("rules: none ask") {
    CHECK(effect(approval_rules(), tool_subject("a", "b")) == "ask");
    CHECK(effect(rules_of("{}"), tool_subject("a", "b")) == "ask");
    CHECK(effect(rules_of(R"({"allow":[],"ask":[],"deny":[]})"), "ls") == "ask");
}

TEST_CASE("rules: deny beats ask beats allow, for tools") {
    auto const rules = rules_of(R"({
        "allow": [{"tool": "github.*"}, {"tool": "pay.*", "where": [{"path": "amount", "op": "<=", "value": 100}]}],
        "ask": [{"tool": "github.create_*"}],
        "deny": [{"tool": "*.delete_*", "reason": "nothing is deleted here"}]
    })");
    CHECK(effect(rules, tool_subject("github", "search")) == "allow");
    CHECK(effect(rules, tool_subject("github", "create_issue")) == "ask");
    CHECK(effect(rules, tool_subject("github", "delete_repo")) == "deny");
    CHECK(effect(rules, tool_subject("other", "search")) == "ask");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", 100}})) == "allow");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", 101}})) == "ask");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", "1"}})) == "ask");
    CHECK(effect(rules, tool_subject("pay", "send")) == "ask");

    auto const denied = rules.judge(tool_subject("github", "delete_repo"));
    CHECK(denied.rule == "deny[0]");
    CHECK(denied.reason == "nothing is deleted here");
    CHECK(rules.judge(tool_subject("pay", "send", {{"amount", 1}})).rule == "allow[1]");
}

TEST_CASE("rules: what may be denied is not allowed") {
    auto const rules = rules_of(R"({
        "allow": [{"tool": "pay.*"}],
        "deny": [{"tool": "pay.*", "where": [{"path": "amount", "op": ">", "value": 100}]}]
    })");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", 101}})) == "deny");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", 100}})) == "allow");
    CHECK(effect(rules, tool_subject("pay", "send", {{"amount", "101"}})) ==
          "ask"); // a server may take it for a number
    CHECK(effect(rules, tool_subject("pay", "send")) == "ask");
}

TEST_CASE("rules: tools have the names that the host knows, and a name of Python's forbids, but does not allow") {
    auto const rules = rules_of(R"({
        "allow": [{"tool": "*.list-*"}, {"tool": "*.get_sum"}, {"tool": "brave_search.get-*"}],
        "deny": [{"tool": "brave-search.web_search"}, {"tool": "brave_search.get-key"}]
    })");
    CHECK(effect(rules, tool_subject("brave_search", "list-all")) == "allow");
    CHECK(effect(rules, tool_subject("other", "get-sum")) == "ask");
    CHECK(effect(rules, tool_subject("brave_search", "get-sum")) == "allow");
    CHECK(effect(rules, tool_subject("brave_search", "get-key")) == "deny");
    CHECK(effect(rules, tool_subject("brave_search", "Web-Search")) == "ask");
    CHECK(rules.judge(tool_subject("brave_search", "Web-Search")).reason == "it may be denied");
}

TEST_CASE("rules: what tools say about their effects") {
    auto const saying = [](ipybox::approval_subject::tool_annotations said) {
        auto subject = tool_subject("files", "some");
        subject.annotations = said;
        return subject;
    };
    auto const reading = saying({.read_only = true, .destructive = false});
    auto const adding = saying({.destructive = false});
    auto const unsaid = saying({});
    auto const unlisted = tool_subject("files", "some");

    auto const readers = rules_of(R"({"allow": [{"tool": "*.*", "annotations": {"readOnlyHint": true}}]})");
    CHECK(effect(readers, reading) == "allow");
    CHECK(effect(readers, adding) == "ask");
    CHECK(effect(readers, unsaid) == "ask");
    CHECK(effect(readers, unlisted) == "ask");

    auto const careful = rules_of(R"({
        "allow": [{"tool": "files.*"}],
        "deny": [{"server": "files", "annotations": {"destructiveHint": true, "openWorldHint": true}}]
    })");
    CHECK(effect(careful, reading) == "allow");
    CHECK(effect(careful, adding) == "allow");
    CHECK(effect(careful, unsaid) == "deny"); // as MCP has it: it may destroy something
    CHECK(effect(careful, unlisted) == "ask");
    CHECK(careful.judge(unlisted).reason == "it may be denied");
    CHECK(effect(careful, saying({.open_world = false})) == "allow");

    auto const again = rules_of(R"({"allow": [{"tool": "*.*", "annotations": {"idempotentHint": true}}]})");
    CHECK(effect(again, saying({.idempotent = true})) == "allow");
    CHECK(effect(again, unsaid) == "ask");
}

TEST_CASE("rules: servers and packages have rules of their own") {
    auto const rules = rules_of(R"({
        "allow": [{"kind": "package", "argv": ["pip", "install", "numpy"]}, {"kind": "server", "server": "fetch"}],
        "deny": [{"kind": "package", "argv": ["*", "install", "git+*"]}, {"kind": "server", "server": "evil*"}]
    })");
    auto const package = [](std::string name) {
        return approval_subject{.kind = approval_subject::action::package, .argv = {"pip", "install", std::move(name)}};
    };
    CHECK(effect(rules, package("numpy")) == "allow");
    CHECK(effect(rules, package("git+https://x/y")) == "deny");
    CHECK(effect(rules, package("numpy; rm")) == "ask"); // one word, as no shell reads it
    CHECK(effect(rules, {.kind = approval_subject::action::server, .server = "fetch"}) == "allow");
    CHECK(effect(rules, {.kind = approval_subject::action::server, .server = "evil2"}) == "deny");
    CHECK(effect(rules, tool_subject("fetch", "fetch")) == "ask");
    CHECK(effect(rules_of(R"({"deny":[{"kind":"package"}]})"), package("numpy")) == "deny");
    CHECK(effect(rules_of(R"({"allow":[{"kind":"package","argv":["pip","**"]}]})"), package("numpy")) == "allow");
}

TEST_CASE("rules: each part of a shell line has to be allowed, one that is denied denies it") {
    auto const rules = rules_of(R"({
        "allow": [{"argv": ["ls", "**"]}, {"argv": ["git", "status"]}, {"argv": ["grep", "*", "**"]}, {"argv": ["stat", "**"]}],
        "ask": [{"argv": ["stat", "/secret*", "**"]}],
        "deny": [{"argv": ["rm", "**"], "reason": "nothing is removed"}, {"argv": ["git", "push", "**"]}]
    })");
    for (auto const* const line :
         {"ls", "ls -l x", "ls -l | grep x", "git status && ls; ls & ls\nls", "(ls; git status)", "ls $(ls)", "ls `ls`",
          "ls *.py ~ $HOME", "ls 2>/dev/null", "ls 2>&1", "sh -c 'ls; git status'", "ls # rm x"}) {
        CAPTURE(line);
        CHECK(effect(rules, line) == "allow");
    }
    for (auto const* const line : {"cat x",
                                   "ls; cat x",
                                   "ls && git status -s",
                                   "git",
                                   "git stat",
                                   "/tmp/ls",
                                   "./ls",
                                   "ls > f",
                                   "ls >> f",
                                   "ls < f",
                                   "X=1 ls",
                                   "X=1",
                                   "LD_PRELOAD=x ls",
                                   "$x",
                                   "ls $(cat x)",
                                   "ls <(ls)",
                                   "cat <<E\nx\nE",
                                   "if ls; then ls; fi",
                                   "! ls",
                                   "time ls",
                                   "ls \\\n",
                                   "git $x",
                                   "grep $x y",
                                   "stat /secret/x",
                                   "stat '/secret'",
                                   "stat $x",
                                   "ls | stat /secret",
                                   "",
                                   "# nothing",
                                   "ls &> f",
                                   "f() { ls; }; f",
                                   "sh -c \"$x\"",
                                   "sh -c ls x",
                                   "bash -lc ls",
                                   "sh",
                                   "ls() { git; }; ls"}) {
        CAPTURE(line);
        CHECK(effect(rules, line) == "ask");
    }
    for (auto const* const line : {"rm x",
                                   "ls; rm x",
                                   "ls | rm x",
                                   "ls && rm x",
                                   "ls || rm x",
                                   "ls & rm x",
                                   "ls\nrm x",
                                   "(rm x)",
                                   "ls $(rm x)",
                                   "ls \"$(rm x)\"",
                                   "ls `rm x`",
                                   "X=$(rm x)",
                                   "X=1 rm x",
                                   "rm x > f",
                                   "/bin/rm x",
                                   "../rm x",
                                   "r\\m x",
                                   "'rm' x",
                                   "sh -c 'rm x'",
                                   "sh -c 'sh -c \"rm x\"'",
                                   "env rm x",
                                   "env -i A=1 rm x",
                                   "nohup nice rm x",
                                   "xargs -n1 rm",
                                   "find . -exec rm {} +",
                                   "bash -lc 'rm x'",
                                   "eval rm x",
                                   "eval 'ls; rm x'",
                                   "sudo -u x /bin/rm x",
                                   "command rm",
                                   "for i in 1; do rm $i; done",
                                   "if rm x; then ls; fi",
                                   "! rm x",
                                   "ls <(rm x)",
                                   "ls \\\n; rm x",
                                   "git push",
                                   "git push --force",
                                   "git pus'h' x",
                                   "timeout 5 sh -c 'rm x'",
                                   "sh -c \"r'm'\" x"}) {
        CAPTURE(line);
        CHECK(effect(rules, line) == "deny");
    }
    CHECK(rules.judge(shell_subject("ls; rm x")).reason == "nothing is removed");
    CHECK(rules.judge(shell_subject("ls | git status")).rule == "allow[0], allow[1]");
    CHECK(contains(rules.judge(shell_subject("if ls; then ls; fi")).reason, "reserved word if"));
}

TEST_CASE("rules: a word that a shell computes may be what is denied") {
    auto const rules = rules_of(R"({"allow":[{"argv":["git","**"]}],"deny":[{"argv":["git","push","**"]}]})");
    CHECK(effect(rules, "git status") == "allow");
    CHECK(effect(rules, "git $x") == "ask");
    CHECK(effect(rules, "git pu*") == "ask");
    CHECK(effect(rules, "git {push,status}") == "ask");
    CHECK(effect(rules, "git status $x") == "allow");
    CHECK(effect(rules, "git push $x") == "deny");
    CHECK(effect(rules_of(R"({"allow":[{"argv":["a","**"]}],"deny":[{"argv":["a"]}]})"), "a $x") == "ask");
}

TEST_CASE("rules: one word is one program, whatever is in it") {
    auto const rules = rules_of(R"({"allow":[{"argv":["ls","**"]},{"argv":["make","test"]},{"argv":["l*","**"]},
                                             {"argv":["/opt/my tools/x"]}]})");
    auto const program = [&rules](std::vector<std::string> argv,
                                  approval_subject::action kind = approval_subject::action::shell) {
        return effect(rules, {.kind = kind, .argv = std::move(argv), .cwd = "/work"});
    };
    CHECK(program({"ls"}) == "allow");
    CHECK(program({"ls", "-l; rm x"}) == "allow");  // no shell reads it
    CHECK(program({"/opt/my tools/x"}) == "allow"); // the rule has it letter by letter
    for (auto const* const word :
         {"ls /../evil", "ls -l", "make test", "make test #/../evil", "ls #/../x", "'ls'", "\"ls\"", "ls;", "ls\n",
          "l/../x", "l\\s", "l$x", "lé", "l//x", "l/./x", "l/..", "l/", ""}) {
        CAPTURE(word);
        CHECK(program({word}) == "ask");
        CHECK(program({word}, approval_subject::action::shell_magic) == "ask");
        CHECK(program({word, "test"}) == "ask");
    }
    CHECK(effect(rules, "'ls /../evil'") == "ask");
    CHECK(effect(rules, "sh -c \"'make test #/../evil'\"") == "ask");
}

TEST_CASE("rules: a wildcard in a program's path stands for plain paths to programs that are there and run no others") {
    ipybox::test::scratch_dir const scratch;
    auto const bin = scratch.path() / "bin";
    std::filesystem::create_directory(bin);
    scratch.write("bin/tool-a", "#!/bin/sh\n");
    scratch.write("evil", "#!/bin/sh\n");
    std::filesystem::create_symlink("/bin/sh", bin / "tool-sh");
    auto const rules = rules_of(json{{"allow", {{{"argv", {bin.native() + "/tool-*", "**"}}}}}}.dump());
    auto const at = [&](std::string name) { return effect(rules, bin.native() + "/" + name + " x"); };
    CHECK(at("tool-a") == "allow");
    CHECK(at("tool-sh") == "ask");   // leads to a shell
    CHECK(at("tool-none") == "ask"); // may be anything where the host cannot see it
    CHECK(at("tool-a/../../evil") == "ask");
    CHECK(at("../evil") == "ask");
    CHECK(at("tool-a/") == "ask");
}

TEST_CASE("rules: one that allows names its program") {
    auto const problem = [](std::string_view text) {
        auto const read = approval_rules::parse(text);
        return read ? std::string("none") : read.error().text();
    };
    for (auto const* const pattern : {R"(["*","**"])", R"(["*ls"])", R"(["/usr/bin/*","**"])", R"(["*/ls"])"}) {
        CAPTURE(pattern);
        for (auto const* const kind : {R"("kind":"shell",)", R"("kind":"package",)", ""}) {
            auto const rule = std::string("{") + kind + "\"argv\":" + pattern + "}";
            CHECK(contains(problem("{\"allow\":[" + rule + "]}"), "a rule that allows names its program"));
            CHECK(problem("{\"ask\":[" + rule + "],\"deny\":[" + rule + "]}") == "none");
        }
    }
    CHECK(contains(problem(R"({"allow":[{"kind":"shell"}]})"), "a rule that allows names its program"));
    CHECK(contains(problem(R"({"allow":[{"argv":["**"]}]})"), "a program is wanted"));
    CHECK(contains(problem(R"({"allow":[{"argv":["./dev","test"]}]})"), "allow/0/cwd: a relative path"));
    auto const dev = rules_of(R"({"allow":[{"argv":["./dev","test"],"cwd":"/work"}]})");
    CHECK(effect(dev, "./dev test") == "allow");
    CHECK(effect(dev, shell_subject("./dev test", "/elsewhere")) == "ask");
    CHECK(effect(dev, "cd /elsewhere; ./dev test") == "ask");
}

TEST_CASE("rules: a wildcard does not stand for programs that run others") {
    auto const allows = [](std::string const& program, std::string const& line) {
        return effect(rules_of(json{{"allow", {{{"argv", {program, "**"}}}}}}.dump()), line) == "allow";
    };
    for (std::string const program : {"env",      "python3",  "python3.12-dbg",
                                      "bash",     "xargs",    "find",
                                      "sudo",     "setarch",  "linux64",
                                      "choom",    "chrt",     "prlimit",
                                      "git",      "tar",      "sort",
                                      "gmake",    "ninja",    "cmake",
                                      "npm",      "cargo",    "go",
                                      "tmux",     "screen",   "at",
                                      "less",     "man",      "pkexec",
                                      "socat",    "nvim",     "view",
                                      "ex",       "crontab",  "run-parts",
                                      "bwrap",    "pip",      "lua5.4",
                                      "gcc-12",   "busybox",  "editor",
                                      "perl5.36", "vim.basic"}) {
        CAPTURE(program);
        if (program != "vim.basic") CHECK_FALSE(allows(program.substr(0, 1) + "*", program + " x"));
        CHECK(allows(program, program + " x")); // named
    }
    CHECK_FALSE(allows("/lib64/ld*", "/lib64/ld-linux-x86-64.so.2 /tmp/z"));
    CHECK(allows("my*", "mypython x"));
    CHECK(allows("l*", "ls x"));
}

TEST_CASE("rules: builtins that evaluate their words again need a rule with exactly these words") {
    auto const open = [](std::string const& program, std::string const& line) {
        return effect(rules_of(json{{"allow", {{{"argv", {program, "**"}}}, {{"argv", {"ls"}}}}}}.dump()), line);
    };
    for (auto const* const line : {"test -v 'a[$(/tmp/z)]'",
                                   "test x -a -v 'a[`/tmp/z`]'",
                                   "test $x",
                                   "test \"$x\" = a",
                                   "test -R a",
                                   "printf -v PATH /tmp/bin; ls",
                                   "printf -v 'a[$(/tmp/z)]' x",
                                   "printf -vPATH x",
                                   "printf '%n' PATH",
                                   "printf -- 'abc%5ln' PATH",
                                   "printf '%%%n' PATH",
                                   "printf -- $x",
                                   "printf $x",
                                   "printf %d 'a[$(x)]'",
                                   "read PATH",
                                   "read 'a[$(/tmp/z)]'",
                                   "let 'a[$(/tmp/z)]=1'",
                                   "mapfile -C /tmp/z a",
                                   "readarray -C /tmp/z a",
                                   "compgen -C /tmp/z x",
                                   "compgen -W '$(/tmp/z)' x",
                                   "complete -C /tmp/z ls",
                                   "jobs -x /tmp/z",
                                   "hash -p /tmp/z ls; ls",
                                   "wait -n -p 'a[$(/tmp/z)]'",
                                   "getopts a PATH",
                                   "bind -x a",
                                   "fc -e /tmp/z",
                                   "history -a x",
                                   "export PATH=/tmp",
                                   "declare PATH=/tmp",
                                   "unset PATH",
                                   "set -x",
                                   "alias ls=z",
                                   "trap /tmp/z EXIT"}) {
        CAPTURE(line);
        std::string const program(line, std::string_view(line).find(' '));
        CHECK(open(program, line) == "ask");
        CHECK(open(program, "bash -c " + std::string("\"") + program + " \\$x\"") == "ask");
    }
    CHECK(open("[", "[ -v 'a[$(/tmp/z)]' ]") == "ask");
    CHECK(open("[", "[ -f x ] && ls") == "allow");
    CHECK(open("test", "test -f x && ls") == "allow");
    CHECK(open("test", "test 1 -lt 2") == "allow");
    CHECK(open("printf", "printf '%s\\n' a \"$x\" '[$]'") == "ask");
    CHECK(open("printf", "printf '100%%n %' a") == "allow");
    CHECK(open("printf", "printf '%s\\n' a \"$x\" | ls") == "allow");
    CHECK(effect(rules_of(R"({"allow":[{"argv":["export","CI=1"]},{"argv":["ls"]}]})"), "export CI=1; ls") == "allow");
    CHECK(effect(rules_of(R"({"allow":[{"argv":["export","*=1"]},{"argv":["ls"]}]})"), "export CI=1; ls") == "ask");
}

TEST_CASE("rules: %pip is pip of the kernel's own interpreter") {
    auto const rules = rules_of(R"({"allow":[{"kind":"package","argv":["pip","install","numpy"]}]})");
    auto const magic = [&rules](std::string line, std::string cwd = "/work") {
        return effect(rules, {.kind = approval_subject::action::package,
                              .argv = {"/bin/sh", "-c", std::move(line)},
                              .cwd = std::move(cwd),
                              .interpreter = "/home/me/.venv/bin/python"});
    };
    CHECK(magic("/home/me/.venv/bin/python -m pip install numpy") == "allow");
    CHECK(magic("pip install numpy") == "allow");
    for (auto const* const line :
         {"/tmp/evil/python -m pip install numpy", "python -m pip install numpy",
          "/home/me/.venv/bin/python -m pip install evil", "/home/me/.venv/bin/python -m pip install numpy evil",
          "/home/me/.venv/bin/python -m pip install numpy; ls", "/home/me/.venv/bin/python -m pip install numpy > f",
          "A=1 /home/me/.venv/bin/python -m pip install numpy", "/home/me/.venv/bin/python -c pip install numpy",
          "/home/me/.venv/bin/python -m pip"}) {
        CAPTURE(line);
        CHECK(magic(line) == "ask");
    }
    auto shell = shell_subject("pip install numpy");
    shell.interpreter = "/home/me/.venv/bin/python";
    CHECK(effect(rules, shell) == "ask"); // another kind
    CHECK(
        effect(rules, {.kind = approval_subject::action::package, .argv = {"pip", "install", "numpy"}, .input = "x"}) ==
        "ask");
}

TEST_CASE("rules: without a kind, those that deny or ask are about packages too") {
    auto const as_package = [](std::string line) {
        auto subject = shell_subject(std::move(line));
        subject.kind = approval_subject::action::package;
        return subject;
    };
    CHECK(effect(rules_of(R"({"deny":[{"argv":["rm","**"]}]})"), as_package("ls; rm x")) == "deny");
    CHECK(effect(rules_of(R"({"deny":[{"cwd":"/work"}]})"), as_package("ls")) == "deny");
    CHECK(effect(rules_of(R"({"allow":[{"kind":"package","argv":["pip","**"]}],"ask":[{"argv":["pip","*","evil"]}]})"),
                 as_package("pip install evil")) == "ask");
    CHECK(effect(rules_of(R"({"allow":[{"argv":["pip","**"]}]})"), as_package("pip install x")) == "ask");
    CHECK(effect(rules_of(R"({"deny":[{"kind":"shell","argv":["rm","**"]}]})"), as_package("rm x")) == "ask");
}

TEST_CASE("rules: a program that is denied by its path is found by it, and may be meant by its name") {
    auto const rules =
        rules_of(R"({"allow":[{"argv":["rm","**"]},{"argv":["ls","**"]}],"deny":[{"argv":["/usr/bin/rm","**"]}]})");
    CHECK(effect(rules, "/usr/bin/rm x") == "deny");
    CHECK(effect(rules, "/usr/bin/../bin/rm x") == "deny");
    CHECK(effect(rules, shell_subject("../usr/bin/rm x", "/work")) == "deny");
    CHECK(effect(rules, "rm x") == "ask"); // PATH may lead there
    CHECK(rules.judge(shell_subject("rm x")).reason == "it may be denied");
    CHECK(effect(rules, "/bin/rm x") == "ask"); // a link may
    CHECK(effect(rules, "ls rm") == "allow");
}

TEST_CASE("rules: long lines are judged in little time") {
    auto const rules = rules_of(R"({"allow":[{"argv":["env","**"]}],"deny":[{"argv":["rm","**"]}]})");
    std::string words = "env";
    for (int i = 0; i < 50'000; ++i) words += " 'a b'";
    CHECK(effect(rules, words) == "allow");
    CHECK(effect(rules, words + " rm") == "deny");
    std::string nested = "rm";
    for (int i = 0; i < 6; ++i) nested = "env sh -c \"" + nested + "\" a";
    CHECK(effect(rules, nested) != "allow");
}

TEST_CASE("rules: variables have to be named") {
    auto const rules = rules_of(R"({"allow":[{"argv":["ls"],"env":["LC_*","TZ"]},{"argv":["git"]}]})");
    CHECK(effect(rules, "ls") == "allow");
    CHECK(effect(rules, "LC_ALL=C TZ=UTC ls") == "allow");
    CHECK(effect(rules, "LD_PRELOAD=x ls") == "ask");
    CHECK(effect(rules, "LC_ALL=$(git) ls") == "allow");
    CHECK(effect(rules, "LC_ALL=$(cat) ls") == "ask");
    CHECK(effect(rules, "LC_ALL=C") == "ask"); // for all that follows
    auto with = shell_subject("ls");
    with.env["TZ"] = "UTC";
    CHECK(effect(rules, with) == "allow");
    with.env["PATH"] = "/work/evil";
    CHECK(effect(rules, with) == "ask");
    with = shell_subject("ls");
    with.env["LD_LIBRARY_PATH"] = std::nullopt; // removing is changing
    CHECK(effect(rules, with) == "ask");
    with = shell_subject("git");
    with.env["TZ"] = "UTC";
    CHECK(effect(rules, with) == "ask");
}

TEST_CASE("rules: directories") {
    auto const rules = rules_of(
        R"({"allow":[{"argv":["make"],"cwd":"/work/*"},{"argv":["cd","**"]}],"deny":[{"argv":["rm","**"],"cwd":"/work/keep"}]})");
    auto const in = [&rules](std::string cwd, std::string line) {
        auto subject = shell_subject(std::move(line));
        subject.cwd = std::move(cwd);
        return effect(rules, subject);
    };
    CHECK(in("/work/a", "make") == "allow");
    CHECK(in("/work", "make") == "ask");
    CHECK(in("/work/../etc", "make") == "ask");
    CHECK(in("/work//a", "make") == "ask");
    CHECK(in("work/a", "make") == "ask");
    CHECK(in("", "make") == "ask");
    CHECK(in("/work/a", "cd /etc && make") == "ask");
    CHECK(in("/work/keep", "rm x") == "deny");
    CHECK(in("/work/a", "rm x") == "ask");
    CHECK(in("/work/./keep", "rm x") == "ask");
}

TEST_CASE("W10: what a magic runs is what is judged") {
    auto const rules =
        rules_of(R"({"allow":[{"argv":["echo","**"]},{"argv":["bash"]}],"deny":[{"argv":["rm","**"]}]})");
    auto const magic = [&rules](std::vector<std::string> argv, std::string body) {
        approval_subject const subject{
            .kind = approval_subject::action::shell_magic, .argv = std::move(argv), .input = std::move(body)};
        return effect(rules, subject);
    };
    CHECK(magic({"bash"}, "echo harmless\n") == "allow");
    CHECK(magic({"bash"}, "echo harmless\nrm x\n") == "deny");
    CHECK(magic({"bash", "-c", "rm x"}, "echo harmless") == "deny"); // the line runs, the body is its input
    CHECK(magic({"bash", "-c", "cat"}, "echo harmless") == "ask");
    CHECK(magic({"bash", "-s"}, "echo harmless") == "ask");
    CHECK(magic({"bash", "-e"}, "rm x") == "ask");
    CHECK(magic({"python3"}, "print(1)") == "ask");
    CHECK(magic({"perl", "-e", "x"}, "") == "ask");
    CHECK(magic({"echo", "hi"}, "") == "allow");
    CHECK(magic({"echo hi"}, "") == "ask"); // a program of that name
    CHECK(magic({"echo hi; rm x"}, "") == "ask");
    CHECK(magic({}, "") == "ask");
}

TEST_CASE("rules: a file that is wrong says where") {
    auto const problem = [](std::string_view text) {
        auto const read = approval_rules::parse(text, "rules.json");
        if (read) return std::string("none");
        CHECK(read.error() == ipybox::errc::invalid_argument);
        return read.error().text();
    };
    CHECK(contains(problem("{\n \"deny\": [\n  {\"tool\" 3}\n]}"), "rules.json:3:11: "));
    CHECK(contains(problem(""), "rules.json:1:1: "));
    CHECK(contains(problem("[]"), "rules.json: an object is wanted"));
    CHECK(problem(R"({"alow":[]})") == "rules.json/alow: no such member is known here; did you mean allow?");
    CHECK(problem(R"({"allow":{}})") == "rules.json/allow: an array is wanted");
    CHECK(problem(R"({"allow":[{"tool":"a.b"},{"tool":"a"}]})") ==
          "rules.json/allow/1/tool: \"server.tool\" is wanted, or \"server\" besides it");
    CHECK(problem(R"({"allow":[{"tool":"a.b","where":[{"path":"x","op":"~","value":1}]}]})") ==
          "rules.json/allow/0/where/0/op: one of ==, !=, <, <=, >, >=, in, matches, prefix is wanted");
    CHECK(problem(R"({"allow":[{"tool":"a.b","annotations":{"readonlyHint":true}}]})") ==
          "rules.json/allow/0/annotations/readonlyHint: no such member is known here; did you mean readOnlyHint?");
    CHECK(problem(R"({"allow":[{"tool":"a.b","annotations":{}}]})") ==
          "rules.json/allow/0/annotations: readOnlyHint, destructiveHint, idempotentHint or openWorldHint is wanted");
    CHECK(contains(problem(R"({"deny":[{"argv":["a"],"annotations":{"readOnlyHint":true}}]})"),
                   "no such member is known here"));
    CHECK(problem(R"({"ask":[{}]})") == "rules.json/ask/0/tool: a tool is wanted: \"server.tool\"");
    CHECK(problem(R"({"allow":[{"argvs":["ls"]}]})") == "rules.json/allow/0/argvs: no such member is known here");
    CHECK(problem(R"({"deny":[{"argv":[]}]})") == "rules.json/deny/0/argv: a program is wanted");
    CHECK(problem(R"({"deny":[{"argv":["**","a"]}]})") == "rules.json/deny/0/argv: \"**\" can only be the last");
    CHECK(problem(R"({"deny":[{"argv":["a",1]}]})") == "rules.json/deny/0/argv: an array of texts is wanted");
    CHECK(problem(R"({"deny":[{"argv":["a"],"env":["X"]}]})") ==
          "rules.json/deny/0/env: only a rule that allows has it");
    CHECK(problem(R"({"deny":[{"argv":["a"],"tool":"b.c"}]})") ==
          "rules.json/deny/0/tool: no such member is known here");
    CHECK(problem(R"({"deny":[{"kind":"shel"}]})") == "rules.json/deny/0/kind: one of tool, shell, shell_magic, "
                                                      "package, server, network, resource, prompt is wanted");
    CHECK(problem(R"({"deny":[{"tool":"a.b"}],"deny":[]})") ==
          "rules.json: a member \"deny\" stands twice in one object");
    CHECK(contains(problem(std::string(10'000, '[')), "rules.json"));
    CHECK(contains(problem("{\"deny\":" + std::string(1000, '[') + std::string(1000, ']') + "}"), "nest too deeply"));
    CHECK(contains(problem(R"({"allow":[{"tool":"a.b","where":[{"path":"x","op":"<","value":1e999}]}]})"),
                   "rules.json: "));
}

TEST_CASE("rules: from a file") {
    ipybox::test::scratch_dir const scratch;
    auto const file = scratch.write("rules.json", R"({"allow":[{"argv":["ls","**"]}]})");
    auto const read = approval_rules::load(file);
    REQUIRE(read);
    CHECK(effect(*read, "ls x") == "allow");
    auto const missing = approval_rules::load(scratch.path() / "none.json");
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == ipybox::errc::io_error);
    std::string longest = R"({"allow":[{"argv":["ls","**"]}]})";
    longest.resize(std::size_t(1) << 20, ' ');
    CHECK(approval_rules::load(scratch.write("longest.json", longest)));
    auto const long_file = approval_rules::load(scratch.write("long.json", longest + ' '));
    REQUIRE_FALSE(long_file);
    CHECK(long_file.error() == ipybox::errc::invalid_argument);
    CHECK_FALSE(approval_rules::load(scratch.path())); // a directory
    auto const wrong = approval_rules::load(scratch.write("wrong.json", "{\n"));
    REQUIRE_FALSE(wrong);
    CHECK(contains(wrong.error().text(), "wrong.json:2:1: "));
}
