#include <support/catch.hpp>
#include <support/contains.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cli/command_description.hpp>
#include <cli/completion.hpp>
#include <cli/limit.hpp>
#include <cli/man_page.hpp>
#include <cli/offered_words.hpp>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::cli;
using test::contains;

/// A program with an option of each kind.
class small_program {
  public:
    small_program() {
        app_.set_help_flag("-h,--help", "Help");
        auto& bake = *app_.add_subcommand("bake", "Bakes bread. It's the user's.\nTakes an hour.\n\nThen it's done.");
        bake.add_option("--flour", text_, "Which: [wheat] or rye")->type_name("NAME")->check(offers({"wheat", "rye"}));
        bake.add_option("--recipe", text_, "Recipe")->type_name("WHO")->check(offers({"mine"}, other_values::files));
        bake.add_option("--oven", text_, "Where\nit is baked")->type_name("DIR");
        bake.add_option("--log", text_, "Log")->type_name("FILE");
        bake.add_option("--minutes", text_, "How long")->type_name("N");
        bake.add_option("--with", many_, "More")->type_name("X")->allow_extra_args(false);
        bake.add_flag("-q,--quiet", quiet_, "Say nothing");
        bake.add_option("FILE", text_, "Input")->required();
        bake.footer("Exit codes:\n  0  done\n\nExamples:\n  .bake -q 'a file'\n");
        app_.add_subcommand("eat", "Eats it.");
        app_.add_subcommand("secret", "Hidden.")->group("");
    }

    CLI::App& operator*() { return app_; }

  private:
    CLI::App app_{"Makes food.", "cook"};
    std::string text_;
    std::vector<std::string> many_;
    bool quiet_ = false;
};

command_description described() {
    small_program program;
    return describe(*program);
}

option_description const& option(command_description const& command, std::string const& name) {
    for (auto const& one : command.options)
        if (one.names.back() == name) return one;
    FAIL("there is no " << name);
    return command.options.front();
}

} // namespace

TEST_CASE("describe: commands in their order, without hidden ones") {
    auto const program = described();
    CHECK(program.name == "cook");
    REQUIRE(program.commands.size() == 2);
    CHECK(program.commands.at(0).name == "bake");
    CHECK(program.commands.at(1).name == "eat");
    CHECK(summary_of(program.commands.at(0)) == "Bakes bread");
    CHECK(summary_of(program.commands.at(1)) == "Eats it");
}

TEST_CASE("describe: what stands behind an option") {
    auto const bake = described().commands.at(0);
    CHECK(option(bake, "--flour").takes == value_kind::text);
    CHECK(option(bake, "--flour").words == std::vector<std::string>{"wheat", "rye"});
    CHECK(option(bake, "--flour").placeholder == "NAME");
    CHECK(option(bake, "--recipe").takes == value_kind::file);
    CHECK(option(bake, "--recipe").words == std::vector<std::string>{"mine"});
    CHECK(option(bake, "--oven").takes == value_kind::directory);
    CHECK(option(bake, "--oven").text == "Where it is baked");
    CHECK(option(bake, "--log").takes == value_kind::file);
    CHECK(option(bake, "--minutes").takes == value_kind::text);
    CHECK(option(bake, "--minutes").words.empty());
    CHECK(option(bake, "--with").repeatable);
    CHECK_FALSE(option(bake, "--minutes").repeatable);
    CHECK(option(bake, "--quiet").takes == value_kind::none);
    CHECK(option(bake, "--quiet").names == std::vector<std::string>{"-q", "--quiet"});
    REQUIRE(bake.positionals.size() == 1);
    CHECK(bake.positionals.at(0).placeholder == "FILE");
    CHECK(bake.positionals.at(0).takes == value_kind::file);
    CHECK(bake.positionals.at(0).required);
}

TEST_CASE("offers: words are shown neither in help nor in complaints, and refuse nothing") {
    small_program program;
    CHECK_FALSE(contains((*program).get_subcommand("bake")->help(), "words:"));
    std::string other = "spelt";
    CHECK(offers({"wheat"})(other).empty());
}

TEST_CASE("Completion in zsh: characters that mean something there are escaped") {
    auto const script = zsh_completion(described());
    CHECK(contains(script, R"('--flour=[Which\: \[wheat\] or rye]:NAME:(wheat rye)')"));
    CHECK(contains(script, "'bake:Bakes bread'"));
    CHECK(contains(script, "'*--with=[More]:X: '"));
    CHECK(contains(script, "'--oven=[Where it is baked]:DIR:_files -/'"));
    CHECK(contains(script, "'(-q --quiet)-q[Say nothing]'"));
    CHECK_FALSE(contains(script, "secret"));
}

TEST_CASE("Completion in fish: options of a command, with their values") {
    auto const script = fish_completion(described());
    CHECK(contains(script, "complete -c cook -n '__fish_seen_subcommand_from bake' -l flour -x -a 'wheat rye' -d"));
    CHECK(contains(script, "-l recipe -r -a 'mine' -F -d"));
    CHECK(contains(script, "-s q -l quiet -d 'Say nothing'"));
    CHECK(contains(script, "complete -c cook -n __fish_use_subcommand -a eat -d 'Eats it'"));
    CHECK_FALSE(contains(script, "secret"));
}

TEST_CASE("The manual page: characters that mean something in roff are escaped") {
    auto const page = man_page(described(), "1.2.3");
    CHECK(contains(page, ".TH COOK 1 \"\" \"cook 1.2.3\" \"User Commands\"\n"));
    CHECK(contains(page, "cook \\- makes food\n"));
    CHECK(contains(page, "It\\(aqs the user\\(aqs.\nTakes an hour.\n.PP\nThen"));
    CHECK(contains(page, ".TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\nSay nothing\n"));
    CHECK(contains(page, "\\&.bake \\-q \\(aqa file\\(aq\n"));
    CHECK(contains(page, "\\fBcook bake\\fR \\fIFILE\\fR [\\fIoptions\\fR]"));
    CHECK_FALSE(contains(page, "secret"));
}

TEST_CASE("Every limit that completion offers can be set") {
    for (auto const& name : limit_names()) {
        INFO(name);
        sandbox_limits limits;
        CHECK(set_limit(limits, name + "=none"));
        CHECK(set_limit(limits, name + "=1"));
    }
}
