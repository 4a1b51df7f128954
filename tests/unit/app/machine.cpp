#include <ipybox/app/directory_check.hpp>
#include <ipybox/app/install_command.hpp>
#include <ipybox/app/library_version.hpp>
#include <ipybox/app/program_version.hpp>
#include <ipybox/version.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/scratch_dir.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;
using detail::install_command;
using detail::version_in;

/// A script on PATH, which is put back at the end.
class program_on_path {
  public:
    program_on_path(std::string const& name, std::string const& script) {
        auto const file = dir_.path() / name;
        std::ofstream(file) << "#!/bin/sh\n" << script << '\n';
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
        ::setenv("PATH", (dir_.path().string() + ":" + before_).c_str(), 1);
    }
    program_on_path(program_on_path const&) = delete;
    program_on_path& operator=(program_on_path const&) = delete;
    ~program_on_path() { ::setenv("PATH", before_.c_str(), 1); }

  private:
    test::scratch_dir dir_;
    std::string before_ = std::getenv("PATH");
};

} // namespace

TEST_CASE("version_in: the first word that is a version") {
    CHECK(version_in("v20.11.1\n") == "20.11.1");
    CHECK(version_in("uv 0.5.1 (f399a5271 2024-11-08)\n") == "0.5.1");
    CHECK(version_in("bubblewrap 0.8.0") == "0.8.0");
    CHECK(version_in("Python 3.13.0rc1\n") == "3.13.0rc1");
    CHECK(version_in("warning: 7 things\nnpm 10.2.4\n") == "10.2.4");
    CHECK(version_in("(v1.2)") == "1.2");
    CHECK(version_in("").empty());
    CHECK(version_in("no version here, 7 or 7. or v or v7").empty());
}

TEST_CASE("A program on PATH tells its version") {
    program_on_path const node("ipybox-node", "echo v20.11.1");
    auto const found = detail::find_versioned_program(*os::host_programs::now(), "ipybox-node", 10s);
    CHECK(found.state == finding_state::works);
    CHECK(found.version == "20.11.1");
    CHECK(found.path.filename() == "ipybox-node");
    CHECK(found.gap.empty());
}

TEST_CASE("A program that hangs does not hold up the one who asks") {
    program_on_path const node("ipybox-node", "sleep 1000");
    auto const begin = std::chrono::steady_clock::now();
    auto const found = detail::find_versioned_program(*os::host_programs::now(), "ipybox-node", 200ms);
    CHECK(std::chrono::steady_clock::now() - begin < 30s);
    CHECK(found.state == finding_state::fails);
    CHECK(test::contains(found.gap, "did not end within 200 ms"));
}

TEST_CASE("A program that is not there, and one that says no version, do not work") {
    auto const missing = detail::find_versioned_program(*os::host_programs::now(), "ipybox-no-such-program", 10s);
    CHECK(missing.state == finding_state::fails);
    CHECK(missing.gap == "there is no ipybox-no-such-program on PATH");

    program_on_path const broken("ipybox-node", "echo 'error while loading shared libraries'; exit 127");
    auto const found = detail::find_versioned_program(*os::host_programs::now(), "ipybox-node", 10s);
    CHECK(found.state == finding_state::fails);
    CHECK(found.gap == "ipybox-node --version said \"error while loading shared libraries\" and no version");
}

TEST_CASE("install_command: by the name of the distribution, or of one that it is like") {
    CHECK(install_command("ID=debian\n", "bubblewrap") == "sudo apt-get install bubblewrap");
    CHECK(install_command("NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n", "npm") == "sudo apt-get install npm");
    CHECK(install_command("ID=fedora", "npm") == "sudo dnf install npm");
    CHECK(install_command("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "npm") == "sudo dnf install npm");
    CHECK(install_command("ID=arch\n", "npm") == "sudo pacman -S npm");
    CHECK(install_command("ID='opensuse-leap'\nID_LIKE='suse opensuse'\n", "npm") == "sudo zypper install npm");
    CHECK(install_command("ID=alpine\n", "npm") == "sudo apk add npm");
    CHECK(install_command("", "npm") == "sudo apt-get install npm");
    CHECK(install_command("VERSION_ID=arch\nID=void", "npm") == "sudo apt-get install npm");
}

TEST_CASE("check_directory: a directory that can be written to, and one that will be made") {
    test::scratch_dir const dir;
    auto const there = detail::check_directory("working", dir.path());
    CHECK(there.state == finding_state::works);
    CHECK(test::contains(there.note, " GB free"));
    CHECK(std::filesystem::is_empty(dir.path()));

    auto const missing = detail::check_directory("state", dir.path() / "a" / "b");
    CHECK(missing.state == finding_state::works);
    CHECK(test::contains(missing.note, "will be made"));
    CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("check_directory: what is no directory, or cannot be written to") {
    auto const found = detail::check_directory("working", "/proc/sys");
    CHECK(found.state == finding_state::fails);
    CHECK(test::contains(found.gap, "/proc/sys cannot be written to: "));
    CHECK(detail::check_directory("working", "/dev/null").state == finding_state::fails);
    // Root has every permission.
    CHECK(test::contains(detail::check_directory("state", "/proc/a/b").gap, "/proc cannot be written to: "));
}

TEST_CASE("why_not_writable: a file is made, and leaves nothing") {
    test::scratch_dir const dir;
    CHECK(detail::why_not_writable(dir.path() / "a" / "b").empty());
    CHECK(std::filesystem::is_empty(dir.path()));
    CHECK(test::contains(detail::why_not_writable("/proc/a"), "/proc cannot be written to: "));
    CHECK(test::contains(detail::why_not_writable("/sys"), "/sys cannot be written to: "));
    CHECK(test::contains(detail::why_not_writable("/dev/null"), "/dev/null cannot be written to: "));
}

TEST_CASE("library_versions: each has a name and a version") {
    auto const versions = library_versions();
    CHECK(versions.front().name == "ipybox");
    CHECK(versions.front().version == version::text);
    for (auto const& library : versions) {
        INFO(library.name);
        CHECK(library.version.find_first_of("0123456789") != std::string::npos);
    }
}
