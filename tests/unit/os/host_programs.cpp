#include <ipybox/os/host_programs.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

extern "C" char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves declaring it to the program

namespace {

namespace fs = std::filesystem;
using ipybox::os::code_reach;
using ipybox::os::host_environment;
using ipybox::os::host_programs;
using ipybox::test::contains;

/// A working directory in which code can write, with one that is closed in it, and a directory outside.
struct place {
    ipybox::test::scratch_dir dir;
    fs::path const root = fs::canonical(dir.path());
    fs::path const work = root / "work";
    fs::path const outside = root / "outside";

    place() {
        for (auto const& folder : {work / "bin", work / "closed/bin", outside}) fs::create_directories(folder);
    }

    static fs::path program(fs::path const& file) {
        std::ofstream(file) << "#!/bin/sh\n";
        fs::permissions(file, fs::perms::owner_all);
        return file;
    }

    code_reach reach() const { return code_reach({work}, {work / "closed"}); }

    /// The directories of PATH are those of the place.
    host_programs on(std::string const& path) const {
        return host_programs(host_environment({{"PATH", path}}, root), reach());
    }
};

} // namespace

TEST_CASE("host_environment: the variables and the directory of one moment") {
    ::setenv("IPYBOX_TEST_MOMENT", "then", 1);
    auto const before = host_environment::now();
    ::setenv("IPYBOX_TEST_MOMENT", "later", 1);
    CHECK(before.value("IPYBOX_TEST_MOMENT") == "then");
    CHECK(before.directory() == fs::current_path());
    CHECK(before.absolute("a/../b") == fs::current_path() / "b");
    ::unsetenv("IPYBOX_TEST_MOMENT");
    CHECK_FALSE(host_environment::now().find("IPYBOX_TEST_MOMENT"));
    CHECK(host_environment({{"HOME", "/h"}}, "/").home() == "/h");
    CHECK(host_environment({{"HOME", "relative"}}, "/").home().is_absolute()); // by the list of users
    CHECK(host_environment({}, {}).absolute("b").empty());
    CHECK(host_environment({}, {}).absolute("/b") == "/b");
}

TEST_CASE("host_environment: a program that has emptied its environment has no variables") {
    std::map<std::string, std::string> const variables = host_environment::now().variables();
    ::clearenv();
    CHECK(environ == nullptr);
    auto const empty = host_environment::now();
    for (auto const& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    CHECK(empty.variables().empty());
    CHECK(empty.search_path() == "/usr/local/bin:/usr/bin:/bin");
    CHECK(empty.home().is_absolute());
}

TEST_CASE_METHOD(place, "code_reach: what lies in a working directory, what could be made there, and links to it") {
    auto const code = reach();
    CHECK(code.can_change(work));
    CHECK(code.can_change(work / "bin/tool"));
    CHECK(code.can_change(work / "missing/bin"));
    CHECK(code.can_change(outside / "../work/bin"));
    CHECK_FALSE(code.can_change(outside));
    CHECK_FALSE(code.can_change(root));
    CHECK_FALSE(code.can_change(root / "working"));
    CHECK_FALSE(code.can_change(work / "closed/bin"));
    CHECK_FALSE(code.can_change(work / "closed/missing"));
    CHECK(code.reaches(work / "closed/bin"));
    CHECK_FALSE(code.reaches(outside));

    fs::create_symlink(work / "bin", outside / "to-work");
    CHECK(code.can_change(outside / "to-work"));
    // One that leads out again: code can put another in its place.
    fs::create_symlink("/usr", work / "to-usr");
    fs::create_symlink(work / "to-usr", outside / "by-work");
    CHECK(code.can_change(work / "to-usr/bin"));
    CHECK(code.can_change(outside / "by-work/bin"));
    fs::create_symlink(outside / "loop", outside / "loop");
    (void)code.can_change(outside / "loop"); // returns
    CHECK_FALSE(code_reach().can_change(work));
}

TEST_CASE_METHOD(place, "code_reach: of several sandboxes, each with its own closed paths") {
    auto all = reach();
    all.add(code_reach({work / "closed"}, {}));
    CHECK(all.can_change(work / "closed/bin"));
    auto one = reach();
    one.add(reach());
    CHECK_FALSE(one.can_change(work / "closed/bin"));
    one.close({work / "bin", root});
    CHECK_FALSE(one.can_change(work / "bin"));
    CHECK(one.can_change(work)); // the last one holds all of it, and is not closed
}

TEST_CASE_METHOD(place, "host_programs: none from where code can write or make one, closed ones as before") {
    auto const theirs = program(work / "bin/tool");
    auto const closed = program(work / "closed/bin/tool");
    auto const own = program(outside / "tool");
    auto const path = (work / "missing").string() + ":" + (work / "bin").string() + ":" +
                      (work / "closed/bin").string() + ":relative::" + outside.string();
    auto const host = on(path);
    CHECK(host.find("tool") == closed);
    CHECK(host.find_tool("tool") == own);
    CHECK(host.search_path() == (work / "closed/bin").string() + ":" + outside.string());
    CHECK(host.find(theirs.string()) == theirs); // it was named
    CHECK(host.find("work/bin/tool") == theirs);

    fs::create_symlink(theirs, outside / "linked");
    CHECK(host.find("linked").empty());
    CHECK(contains(host.passed_over("linked"), (outside / "linked").string() + " is not used, as code can write"));
    fs::remove(own);
    CHECK(host.find_tool("tool") == closed);
    fs::remove(closed);
    CHECK(host.find("tool").empty());
    CHECK(contains(host.passed_over("tool"), theirs.string() + " is not used, as code can write there: give its"));
    CHECK(host.passed_over("absent").empty());
    CHECK(host_programs(host_environment({{"PATH", path}}, root)).find("tool") == theirs); // no code runs
}

TEST_CASE_METHOD(place, "host_programs: code that comes later counts") {
    program(outside / "tool");
    host_programs host(host_environment({{"PATH", outside.string()}}, root), reach());
    CHECK(host.find("tool") == outside / "tool");
    CHECK_FALSE(host.can_change(outside));
    host.add_reach(code_reach({outside}));
    CHECK(host.find("tool").empty());
    CHECK(host.can_change(outside));
    CHECK(host.search_path().empty());
}

TEST_CASE("host_environment: paths are made absolute, without what means nothing in them") {
    host_environment const host({}, "/work/here");
    auto const made = [&](char const* path) { return host.absolute(path).string(); };
    CHECK(made(".") == "/work/here");
    CHECK(made("") == "/work/here");
    CHECK(made("a/") == "/work/here/a");
    CHECK(made("../b/./c//") == "/work/b/c");
    CHECK(made("/x/y/") == "/x/y");
    CHECK(made("/") == "/");
    CHECK(host_environment({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}, "/").state_directory() == "/s");
    CHECK(host_environment({{"XDG_STATE_HOME", "s"}, {"HOME", "/h"}}, "/").state_directory() == "/h/.local/state");
    host_environment const gone({}, "");
    CHECK(gone.absolute("a").empty());
    CHECK(gone.absolute("/a/") == "/a");
}
