#include <ipybox/kernel/interpreter.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/python.hpp>
#include <support/scratch_dir.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

extern "C" char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves declaring it to the program

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
namespace fs = std::filesystem;

/// The environment and the current directory are the test's own; afterwards they are as before.
struct surroundings {
    test::scratch_dir dir;
    fs::path const root = fs::canonical(dir.path());

    surroundings() {
        for (char** variable = environ; *variable; ++variable) {
            std::string const text(*variable);
            auto const equals = text.find('=');
            environment_before_[text.substr(0, equals)] = text.substr(equals + 1);
        }
        ::clearenv();
        ::setenv("PATH", (root / "path").c_str(), 1);
        fs::create_directories(root / "here/below");
        fs::current_path(root / "here/below");
    }
    surroundings(surroundings const&) = delete;
    surroundings& operator=(surroundings const&) = delete;
    ~surroundings() {
        fs::current_path(directory_before_);
        ::clearenv();
        for (auto const& [name, value] : environment_before_) ::setenv(name.c_str(), value.c_str(), 1);
    }

    /// A program that could be an interpreter.
    fs::path program(fs::path const& name) const {
        auto const file = root / name;
        fs::create_directories(file.parent_path());
        fs::copy_file("/bin/true", file);
        return file;
    }

    /// A script in front of one, as version managers have it.
    fs::path script(fs::path const& name, std::string const& lines) const {
        auto const file = dir.write(fs::path(name), "#!/bin/sh\n" + lines + "\n");
        fs::permissions(file, fs::perms::owner_all);
        return root / name;
    }

    static std::string found(fs::path const& wanted = {}) {
        auto const python = find_python(*os::host_programs::now(), wanted);
        return python ? python->string() : "<" + python.error().text() + ">";
    }

  private:
    std::map<std::string, std::string> environment_before_;
    fs::path directory_before_ = fs::current_path();
};

} // namespace

TEST_CASE_METHOD(surroundings, "find_python: where it looks, in order") {
    auto const on_path = program("path/python3");
    CHECK(found() == on_path);
    auto const above = program(".venv/bin/python");
    CHECK(found() == above);
    auto const nearer = program("here/.venv/bin/python");
    CHECK(found() == nearer);
    auto const here = program("here/below/.venv/bin/python");
    CHECK(found() == here);
    auto const active = program("active/bin/python");
    ::setenv("VIRTUAL_ENV", (root / "active").c_str(), 1);
    CHECK(found() == active);
    auto const named = program("named");
    ::setenv("IPYBOX_PYTHON", named.c_str(), 1);
    CHECK(found() == named);
    auto const wanted = program("wanted");
    CHECK(found(wanted) == wanted);
    ::setenv("IPYBOX_PYTHON", "", 1); // as if it were not there
    CHECK(found() == active);
}

TEST_CASE_METHOD(surroundings, "find_python: what is named but not there is an error, no reason to look further") {
    program("path/python3");
    CHECK(test::contains(found("/no/such/python"), "the option `python` names /no/such/python"));
    ::setenv("VIRTUAL_ENV", "/no/such/environment", 1);
    CHECK(test::contains(found(), "VIRTUAL_ENV names /no/such/environment/bin/python"));
    ::setenv("IPYBOX_PYTHON", "/no/such/interpreter", 1);
    CHECK(test::contains(found(), "IPYBOX_PYTHON names /no/such/interpreter"));
}

TEST_CASE_METHOD(surroundings, "find_python: an environment without an interpreter is passed over") {
    auto const on_path = program("path/python3");
    fs::create_directories(root / "here/.venv/bin");
    dir.write("here/below/.venv/bin/python", "not executable");
    CHECK(found() == on_path);
}

TEST_CASE_METHOD(surroundings, "find_python: none at all") {
    auto const python = find_python(*os::host_programs::now());
    REQUIRE_FALSE(python);
    CHECK(python.error() == errc::python_not_found);
    CHECK(test::contains(python.error().text(), "no python3 on PATH"));
}

TEST_CASE_METHOD(surroundings, "find_python: a script is asked for the interpreter behind it") {
    auto const real = program("versions/3.12/bin/python");
    CHECK(found(script("shim", "echo " + real.string())) == real);
    CHECK(test::contains(found(script("fails", "exit 3")), "it ends with"));
    CHECK(test::contains(found(script("says-nothing", "true")), "it names none"));
}

TEST_CASE_METHOD(surroundings, "find_python: a script in an environment that is found, not named, is not run") {
    auto const real = program("versions/3.12/bin/python");
    auto const planted = script("here/.venv/bin/python", ": > ran; echo " + real.string());
    CHECK(test::contains(found(), planted.string() + " is a script, which code may have written"));
    CHECK_FALSE(fs::exists(root / "here/below/ran"));
    CHECK(found(planted) == real);
}

TEST_CASE_METHOD(surroundings, "find_python: an interpreter behind a script runs nothing of the user's packages") {
    auto const real = fs::canonical(test::python()).string();
    ::setenv("HOME", root.c_str(), 1);
    auto const shim = script("shim", "exec " + real + " \"$@\"");
    auto const site =
        script("site", "exec " + real + " -c 'import site; print(site.USER_SITE)' > " + (root / "where").string());
    REQUIRE(std::system(site.c_str()) == 0);
    auto text = test::read_file(root / "where");
    if (text.ends_with('\n')) text.pop_back();
    fs::create_directories(text);
    std::ofstream(text + "/x.pth") << "import os; open('" + (root / "ran").string() + "', 'w')\n";
    REQUIRE(std::system((shim.string() + " -c pass").c_str()) == 0);
    REQUIRE(fs::remove(root / "ran")); // as it would be
    CHECK(fs::path(found(shim)).is_absolute());
    CHECK_FALSE(fs::exists(root / "ran"));
}

TEST_CASE_METHOD(surroundings, "find_python: a script that prints nothing and leaves a child with its output") {
    auto const began = std::chrono::steady_clock::now();
    // The child has nothing of the test's own output: what runs the test would wait for its end.
    auto const leaves = script("leaves", "/bin/sleep 60 2>/dev/null & echo $! >" + (root / "child").string());
    CHECK(test::contains(found(leaves), "it names none"));
    CHECK(std::chrono::steady_clock::now() - began < 20s);
    ::pid_t child = 0;
    REQUIRE(std::ifstream(root / "child") >> child);
    CHECK(::kill(child, SIGKILL) == 0); // it was alive until now
}

TEST_CASE_METHOD(surroundings, "find_python: a script has the time that it is given") {
    auto const silent = script("silent", "exec /bin/sleep 60");
    auto const before = std::chrono::steady_clock::now();
    auto const python = find_python(*os::host_programs::now(), silent, 300ms);
    REQUIRE_FALSE(python);
    CHECK(python.error() == errc::python_not_found);
    CHECK(test::contains(python.error().text(), "it did not answer within 300 ms"));
    CHECK(std::chrono::steady_clock::now() - before < 5s);
}

TEST_CASE_METHOD(surroundings, "find_python: a script that does not answer can be given up") {
    auto const silent = script("silent", "exec /bin/sleep 60");
    std::stop_source stop;
    std::thread later([&] { stop.request_stop(); });
    auto const before = std::chrono::steady_clock::now();
    auto const python = find_python(*os::host_programs::now(), silent, 10s, stop.get_token());
    later.join();
    REQUIRE_FALSE(python);
    CHECK(python.error() == errc::not_running);
    CHECK(std::chrono::steady_clock::now() - before < 5s);
}

TEST_CASE_METHOD(surroundings, "kernel_environment: exactly what is inherited, with more on top") {
    for (auto const* name : {"PATH", "HOME", "LANG", "LC_ALL", "LC_TIME", "TZ"}) ::setenv(name, name, 1);
    for (auto const* name : {"LANGUAGE", "LC", "PATHS", "HOMEDIR", "TZDIR", "USER", "PYTHONPATH", "LD_PRELOAD",
                             "VIRTUAL_ENV", "IPYBOX_PYTHON", "AWS_SECRET_ACCESS_KEY"})
        ::setenv(name, "host", 1);
    CHECK(kernel_environment(os::host_environment::now()) == environment{{"PATH", "PATH"},
                                                                         {"HOME", "HOME"},
                                                                         {"LANG", "LANG"},
                                                                         {"LC_ALL", "LC_ALL"},
                                                                         {"LC_TIME", "LC_TIME"},
                                                                         {"TZ", "TZ"}});
    ::clearenv();
    ::setenv("TZ", "UTC", 1);
    CHECK(kernel_environment(os::host_environment::now(), {{"TZ", "mine"}, {"PYTHONPATH", "mine"}}) ==
          environment{{"TZ", "mine"}, {"PYTHONPATH", "mine"}});
}
