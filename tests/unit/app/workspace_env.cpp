#include <ipybox/app/workspace_env.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace ipybox;
using ipybox::test::contains;

class env_workspace {
  public:
    void write(std::string const& text) const { std::ofstream(file()) << text; }

    [[nodiscard]] workspace_env read(environment const& process = {}) const {
        return read_workspace_env(directory_.path(), process);
    }

    [[nodiscard]] std::filesystem::path file() const { return directory_.path() / ".env"; }

  private:
    test::scratch_dir directory_;
};

TEST_CASE("workspace_env: without a file the process counts") {
    env_workspace const here;
    auto const read = here.read({{"KERNEL_ENV_A", "1"}, {"KERNEL_ENV_", "x"}, {"B", "2"}});
    CHECK(read.kernel == environment{{"A", "1"}});
    CHECK(read.host.empty());
    CHECK(read.notices.empty());
}

TEST_CASE("workspace_env: the process goes before the file") {
    env_workspace const here;
    here.write("# keys\nKERNEL_ENV_A=file\nexport KERNEL_ENV_B=\"b c\"\nTOKEN='t'\nHOST=file\n");
    auto const read = here.read({{"KERNEL_ENV_A", "process"}, {"HOST", "process"}});
    CHECK(read.kernel == environment{{"A", "process"}});
    CHECK(read.kernel_of_file == environment{{"B", "b c"}});
    CHECK(read.host == environment{{"KERNEL_ENV_B", "b c"}, {"TOKEN", "t"}});
    CHECK(read.notices.empty());
}

TEST_CASE("workspace_env: the file does not set what programs outside of the sandbox obey") {
    env_workspace const here;
    here.write("KERNEL_ENV_LD_PRELOAD=/tmp/evil.so\nKERNEL_ENV_PATH=/tmp\nLD_AUDIT=x\nKERNEL_ENV_OK=1\n");
    auto const read = here.read({{"KERNEL_ENV_LD_LIBRARY_PATH", "/opt/lib"}});
    CHECK(read.kernel == environment{{"LD_LIBRARY_PATH", "/opt/lib"}});
    CHECK(read.kernel_of_file == environment{{"OK", "1"}});
    CHECK(read.host == environment{{"KERNEL_ENV_OK", "1"}});
    REQUIRE(read.notices.size() == 3);
    CHECK(contains(read.notices.front(), "KERNEL_ENV_LD_PRELOAD is left out"));
}

TEST_CASE("workspace_env: the file does not set for servers where interpreters take code from") {
    env_workspace const here;
    here.write("PYTHONPATH=lib\nRUBYLIB=lib\nnpm_config_registry=x\nUV_INDEX=x\nPYTHONSTARTUP=x\nTOKEN=t\n"
               "KERNEL_ENV_PYTHONPATH=src\n");
    auto const read = here.read();
    CHECK(read.host == environment{{"KERNEL_ENV_PYTHONPATH", "src"}, {"TOKEN", "t"}});
    CHECK(read.kernel_of_file == environment{{"PYTHONPATH", "src"}});
    CHECK(read.notices.size() == 5);
}

TEST_CASE("workspace_env: a file that is none is left out, and not waited for") {
    env_workspace const here;
    SECTION("a pipe") { REQUIRE(::mkfifo(here.file().c_str(), 0600) == 0); }
    SECTION("a directory") { std::filesystem::create_directory(here.file()); }
    SECTION("a link") { std::filesystem::create_symlink("/etc/passwd", here.file()); }
    SECTION("no lines of variables") { here.write("A=1\nnonsense\n"); }
    SECTION("too large") { here.write("A=" + std::string(2 << 20, 'x')); }
    auto const read = here.read({{"KERNEL_ENV_B", "2"}});
    CHECK(read.kernel == environment{{"B", "2"}});
    CHECK(read.host.empty());
    REQUIRE(read.notices.size() == 1);
    CHECK(contains(read.notices.front(), ".env"));
    CHECK(contains(read.notices.front(), "left out"));
}

TEST_CASE("workspace_env: a file at the bound is read") {
    env_workspace const here;
    std::size_t const bound = 1 << 20;
    here.write("A=" + std::string(bound - 2, 'x'));
    CHECK(here.read().host.at("A").size() == bound - 2);
}

} // namespace
