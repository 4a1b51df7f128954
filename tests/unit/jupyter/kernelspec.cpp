#include <ipybox/jupyter/kernelspec.hpp>

#include <algorithm>
#include <filesystem>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/scratch_dir.hpp"

using namespace ipybox;
using namespace ipybox::jupyter;
using test::contains;
using paths = std::vector<std::filesystem::path>;

TEST_CASE("kernelspec: where is looked") {
    environment env = {{"JUPYTER_PATH", "/a::/b/"}, {"HOME", "/home/ada"}};
    CHECK(kernelspec_dirs(env, "/opt/py/bin/python") ==
          paths{"/a/kernels", "/b/kernels", "/home/ada/.local/share/jupyter/kernels", "/opt/py/share/jupyter/kernels",
                "/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"});
    env["XDG_DATA_HOME"] = "/data";
    CHECK(kernelspec_dirs(env, "/opt/py/bin/python")[2] == "/data/jupyter/kernels");
    env["JUPYTER_DATA_DIR"] = "/jupyter";
    CHECK(kernelspec_dirs(env, "/opt/py/bin/python")[2] == "/jupyter/kernels");
    CHECK(kernelspec_dirs({}, "/usr/bin/python3") ==
          paths{"/usr/share/jupyter/kernels", "/usr/local/share/jupyter/kernels"});
    CHECK(kernelspec_dirs({}, "") == paths{"/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"});
}

TEST_CASE("kernelspec: a virtual environment comes before the user") {
    test::scratch_dir dir;
    dir.write("venv/pyvenv.cfg", "");
    auto const dirs = kernelspec_dirs({{"HOME", "/home/ada"}}, dir.path() / "venv/bin/python");
    REQUIRE(dirs.size() == 4);
    CHECK(dirs[0] == dir.path() / "venv/share/jupyter/kernels");
    CHECK(dirs[1] == "/home/ada/.local/share/jupyter/kernels");
}

TEST_CASE("kernelspec: kernel.json") {
    auto const spec = parse_kernelspec(
        R"({"argv": ["ark", "--connection", "{connection_file}"], "display_name": "Ark R", "language": "R",
        "interrupt_mode": "message", "env": {"RUST_LOG": "error"}, "metadata": {"debugger": true}})");
    REQUIRE(spec);
    CHECK(spec->argv == std::vector<std::string>{"ark", "--connection", "{connection_file}"});
    CHECK(spec->language == "r");
    CHECK(spec->interrupts == interrupt_mode::message);
    CHECK(spec->env == environment{{"RUST_LOG", "error"}});
    CHECK(parse_kernelspec(R"({"argv": ["x"]})")->interrupts == interrupt_mode::signal);
    CHECK(parse_kernelspec(R"({"argv": ["x"], "interrupt_mode": "Signal", "env": null})"));

    for (auto const* bad : {"", "[]", "{}", R"({"argv": []})", R"({"argv": "x"})", R"({"argv": [1]})",
                            R"({"argv": [""]})", R"({"argv": ["x"], "env": []})", R"({"argv": ["x"], "env": {"A": 1}})",
                            R"({"argv": ["x"], "interrupt_mode": "ask"})", R"({"argv": ["x"], "interrupt_mode": 1})"}) {
        CAPTURE(bad);
        auto const refused = parse_kernelspec(bad);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::protocol_error);
    }
}

TEST_CASE("kernelspec: found by name, the first directory wins") {
    test::scratch_dir dir;
    dir.write("one/Bash/kernel.json", R"({"argv": ["first"]})");
    dir.write("two/bash/kernel.json", R"({"argv": ["second"]})");
    dir.write("two/ir/kernel.json", R"({"argv": ["R"]})");
    dir.write("two/empty/logo.png", "");
    dir.write("two/broken/kernel.json", "{");
    dir.write("two/file", "");
    paths const dirs = {dir.path() / "none", dir.path() / "one", dir.path() / "two"};

    auto const bash = find_kernelspec("BASH", dirs);
    REQUIRE(bash);
    CHECK(bash->name == "bash");
    CHECK(bash->argv.front() == "first");
    CHECK(bash->resource_dir == dir.path() / "one/Bash");
    CHECK(find_kernelspec("ir", dirs)->argv.front() == "R");

    auto const broken = find_kernelspec("broken", dirs);
    REQUIRE_FALSE(broken);
    CHECK(broken.error() == errc::protocol_error);
    CHECK(contains(broken.error().text(), "two/broken/kernel.json"));

    auto const unknown = find_kernelspec("julia", dirs);
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error() == errc::kernelspec_not_found);
    CHECK(unknown.error() == condition::cannot_start);
    for (auto const* part : {"'julia'", " bash", " ir", " python3", "/none"})
        CHECK(contains(unknown.error().text(), part));
    CHECK_FALSE(contains(unknown.error().text(), " empty"));
}

TEST_CASE("kernelspec: names that cannot be") {
    for (auto const* name : {"", ".", "..", "a/b", "../x", "a b", "é", "a\n"}) {
        CAPTURE(name);
        auto const spec = find_kernelspec(name, {"/"});
        REQUIRE_FALSE(spec);
        CHECK(spec.error() == errc::invalid_argument);
    }
}

TEST_CASE("kernelspec: python3 needs no registration") {
    auto const spec = find_kernelspec("python3", {});
    REQUIRE(spec);
    CHECK(spec->language == "python");
    CHECK(kernel_command(*spec, "/run/k.json", "/opt/py/bin/python") ==
          std::vector<std::string>{"/opt/py/bin/python", "-m", "ipykernel_launcher", "-f", "/run/k.json"});
}

TEST_CASE("kernelspec: the command line") {
    kernelspec spec;
    spec.resource_dir = "/kernels/x";
    spec.argv = {"python3", "-f={connection_file}", "{resource_dir}/boot", "{prefix}", "{unknown}",
                 "{",       "{connection_file",     "}{connection_file}{"};
    CHECK(kernel_command(spec, "/c", "/opt/py/bin/python") ==
          std::vector<std::string>{"/opt/py/bin/python", "-f=/c", "/kernels/x/boot", "/opt/py", "{unknown}", "{",
                                   "{connection_file", "}/c{"});
    spec.argv = {"/usr/bin/python3"};
    CHECK(kernel_command(spec, "/c", "/opt/py/bin/python") == std::vector<std::string>{"/usr/bin/python3"});

    test::scratch_dir dir;
    dir.write("python3.11", "");
    std::filesystem::create_symlink(dir.path() / "python3.11", dir.path() / "python");
    spec.argv = {"python3.11"};
    CHECK(kernel_command(spec, "/c", dir.path() / "python").front() == (dir.path() / "python").string());
    spec.argv = {"python3.12"};
    CHECK(kernel_command(spec, "/c", dir.path() / "python").front() == "python3.12");
}

TEST_CASE("kernelspec: the environment") {
    kernelspec spec;
    spec.env = {{"A", "${HOME}/x"},
                {"B", "$HOME$"},
                {"C", "$$HOME ${NONE} ${ $NONE"},
                {"HOME", "$HOME/inner"},
                {"D", "$HOMER"}};
    auto const env = kernel_environment(spec, {{"HOME", "/h"}, {"PATH", "/bin"}});
    CHECK(env == environment{{"A", "/h/x"},
                             {"B", "/h$"},
                             {"C", "$HOME ${NONE} ${ $NONE"},
                             {"HOME", "/h/inner"},
                             {"D", "$HOMER"},
                             {"PATH", "/bin"}});
}

TEST_CASE("kernelspec: a file of 1 MiB is read, and a larger one is not") {
    test::scratch_dir const dir;
    std::string const text = R"({"argv": ["x"]})";
    std::string const blanks((1 << 20) - text.size(), ' ');
    dir.write("kernels/longest/kernel.json", text + blanks);
    dir.write("kernels/longer/kernel.json", text + blanks + ' ');
    CHECK(find_kernelspec("longest", {dir.path() / "kernels"}));
    auto const refused = find_kernelspec("longer", {dir.path() / "kernels"});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "longer/kernel.json: it has more than 1048576 bytes"));
}
