// What rules allow must not start a program that they do not name: random lines and words, full of ways to start one,
// are judged, and those that are allowed are run by real shells.

#include <ipybox/rules/approval_rules.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using ipybox::approval_rules;
using ipybox::approval_subject;
using nlohmann::json;

/// A directory with harmless programs, and one, `z`, that leaves a trace and that no rule names.
class shell_yard {
  public:
    shell_yard() {
        for (auto const* const name : {"bin/a", "bin/b", "bin/t-1"}) write_program(name, "exit 0");
        write_program("z", "exec 3>>" + trace().native());
        std::filesystem::create_symlink(path() / "z", path() / "bin/z");
        std::filesystem::create_symlink("/bin/sh", path() / "bin/t-sh");
        // Words with blanks, quotes and `#` in them are paths that lead to z.
        for (auto const* const name : {"a ", "a #", "b x", "b x #", "'a'", "t-1 ", "[ ", "test -v"})
            std::filesystem::create_directories(path() / "work" / name);
    }

    [[nodiscard]] std::filesystem::path const& path() const { return scratch_.path(); }
    [[nodiscard]] std::filesystem::path trace() const { return path() / "trace"; }

    [[nodiscard]] approval_rules rules() const {
        auto const any = [](std::string program) { return json{{"argv", {std::move(program), "**"}}}; };
        json allow = {
            any("a"), any("test"), any("["), any("printf"), any("cd"), any("echo"), any((path() / "bin/t-*").native())};
        allow.push_back({{"argv", {"b", "x"}}, {"env", {"X"}}});
        allow.push_back({{"kind", "package"}, {"argv", {"a", "**"}}});
        auto read = approval_rules::parse(json{{"allow", allow}}.dump());
        REQUIRE(read);
        return *read;
    }

  private:
    void write_program(std::string const& name, std::string const& line) {
        std::filesystem::create_directories((path() / name).parent_path());
        scratch_.write(name, "#!/bin/sh\n" + line + "\n");
        std::filesystem::permissions(path() / name, std::filesystem::perms::owner_all);
    }

    ipybox::test::scratch_dir scratch_;
};

class action_maker {
    template <class Values>
    auto pick(Values const& from) {
        return from[random_() % from.size()];
    }

  public:
    action_maker(unsigned seed, std::string const& yard) : random_(seed), yard_(yard) {}

    approval_subject operator()() {
        approval_subject made;
        made.kind = pick(kinds_);
        made.cwd = yard_ + "/work";
        auto const shell = std::string(pick(shells_));
        switch (random_() % 4) {
        case 0: made.argv = {text(words_, 4)}; break; // one word
        case 1:
            made.argv = {shell};
            made.input = text(pieces_, 8) + "\n";
            break;
        default: made.argv = {shell, "-c", text(pieces_, 8)};
        }
        return made;
    }

  private:
    template <class Values>
    std::string text(Values const& from, unsigned most) {
        std::string made;
        for (auto count = 1 + random_() % most; count > 0; --count) {
            for (char const c : pick(from)) {
                if (c == 'Z')
                    made += yard_ + "/z";
                else if (c == 'Y')
                    made += yard_ + "/bin/t";
                else
                    made += c;
            }
        }
        return made;
    }

    std::array<approval_subject::action, 3> kinds_{
        approval_subject::action::shell, approval_subject::action::shell_magic, approval_subject::action::package};
    std::array<std::string_view, 4> shells_{"/bin/sh", "bash", "sh", "/bin/bash"};
    std::array<std::string_view, 26> words_{"a",      "a ",  "b x", " ",    "#",           "/../../z",    "/..",
                                            "/../..", "'a'", "Y-1", "Y-sh", "-c z",        "test -v",     "[ ",
                                            "/",      ".",   "./",  "Z",    "a #/../../z", "b x/../../z", ";",
                                            "\n",     "\\",  "z",   "$(Z)", "t-1 /../../z"};
    std::array<std::string_view, 84> pieces_{"a ",
                                             "a ",
                                             "a ",
                                             "echo ",
                                             "echo x",
                                             "; ",
                                             " && ",
                                             " | ",
                                             " & ",
                                             "\n",
                                             "\n",
                                             " ",
                                             " ",
                                             "'",
                                             "'",
                                             "\"",
                                             "\"",
                                             "\\",
                                             "$x",
                                             "${x}",
                                             "x=1 ",
                                             "X=1 ",
                                             "b x",
                                             "b x",
                                             "cd / ",
                                             "cd ..",
                                             "test -f a",
                                             "test x = ",
                                             "[ -f a ]",
                                             "[ x",
                                             " ]",
                                             "printf %s ",
                                             "printf ",
                                             "-v ",
                                             "-v PATH ",
                                             "-v 'a[$(Z)]' ",
                                             "'a[$(Z)]'",
                                             "-R ",
                                             "test -v 'a[$(Z)]'",
                                             "test ",
                                             "[ -v 'a[`Z`]' ]",
                                             "printf -v 'a[$(Z)]' x",
                                             "Y-1 ",
                                             "Y-sh -c z",
                                             "Y-1/../../z",
                                             "Z",
                                             "z",
                                             "z ",
                                             "`Z`",
                                             "$(Z)",
                                             "\"$(z)\"",
                                             "'$(Z)'",
                                             "# ",
                                             " #",
                                             "#",
                                             "<(Z)",
                                             "> /dev/null ",
                                             "2>&1",
                                             ">&2",
                                             "< /dev/null ",
                                             ">f",
                                             "<<E\nz\nE\n",
                                             "read PATH",
                                             "read 'a[$(Z)]'",
                                             "let 'a[$(Z)]=1'",
                                             "mapfile -C Z a",
                                             "compgen -C Z",
                                             "hash -p Z a; a",
                                             "export PATH=.",
                                             "PATH=/ a",
                                             "alias a=Z\na",
                                             "eval Z",
                                             "exec Z",
                                             "(",
                                             ")",
                                             "{ ",
                                             "}",
                                             "if ",
                                             "then ",
                                             "fi",
                                             "! ",
                                             "\t",
                                             "\r",
                                             "a() { Z; }; a"};

    std::mt19937 random_;
    std::string yard_;
};

std::string in_quotes(std::string_view text) {
    std::string all = "'";
    for (char const c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return all + "'";
}

std::string command_line(approval_subject const& subject) {
    std::string line;
    for (auto const& word : subject.argv) line += in_quotes(word) + " ";
    return line;
}

} // namespace

TEST_CASE("rules: what they allow starts nothing that they do not name") {
    // The same actions again: IPYBOX_TEST_SEED=N unit_rules 'rules: what they allow*'
    auto const* const given = std::getenv("IPYBOX_TEST_SEED");
    auto const seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
    INFO("IPYBOX_TEST_SEED=" << seed);
    shell_yard const yard;
    auto const rules = yard.rules();
    action_maker make(seed, yard.path().native());

    std::vector<approval_subject> allowed;
    std::size_t with_canary = 0;
    for (int tries = 0; tries < 400'000 && with_canary < 250; ++tries) {
        auto subject = make();
        if (rules.judge(subject).effect != approval_rules::effect::allow) continue;
        auto const text = command_line(subject) + subject.input;
        bool const has_canary = text.find('z') != std::string::npos || text.find("t-sh") != std::string::npos;
        if (!has_canary && allowed.size() > 100 + with_canary) continue; // not worth a shell
        with_canary += has_canary ? 1 : 0;
        allowed.push_back(std::move(subject));
    }
    CHECK(with_canary > 100);

    auto const driver = yard.path() / "driver";
    {
        std::ofstream out(driver, std::ios::binary);
        out << "PATH=" << yard.path().native() << "/bin:/bin; export PATH; cd "
            << in_quotes((yard.path() / "work").native()) << '\n';
        for (std::size_t i = 0; i < allowed.size(); ++i) {
            auto const& subject = allowed[i];
            // `exec` looks its word up as the supervisor does: no builtin stands for it.
            out << "( printf %s " << in_quotes(subject.input) << " | /usr/bin/timeout 5 " << command_line(subject)
                << ") >/dev/null 2>&1\n[ ! -e ../trace ] || { echo " << i << " >>../hits; rm ../trace; }\n";
        }
    }
    CHECK(std::system(("timeout 120 sh " + driver.native() + " </dev/null").c_str()) == 0);
    std::string shown;
    if (std::filesystem::exists(yard.path() / "hits")) {
        std::ifstream hits(yard.path() / "hits");
        for (std::size_t i = 0; hits >> i;)
            shown += command_line(allowed.at(i)) + "< " + in_quotes(allowed.at(i).input) + "\n";
    }
    CHECK(shown.empty());
    CHECK_FALSE(std::filesystem::exists(yard.trace()));
    // The yard can tell: what no rule allows leaves its trace.
    CHECK(std::system((yard.path() / "z").c_str()) == 0);
    CHECK(std::filesystem::exists(yard.trace()));
}
