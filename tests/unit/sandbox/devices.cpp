#include <ipybox/os/program_output.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/device_files.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/skip.hpp>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "run.hpp"

/** \file
 * Devices of a configuration, opened by the policies that can.
 */

namespace devices_test {
namespace {

using namespace ipybox;
using ipybox::detail::device_files_of;
using ipybox::test::contains;
using sandbox_test::scratch_dir;
namespace fs = std::filesystem;

/// A device of this machine that can be opened for reading, and is among no sandbox's own. Opening it does nothing.
std::string some_device() {
    for (auto const* path : {"/dev/fuse", "/dev/loop-control", "/dev/net/tun", "/dev/kmsg"})
        if (::access(path, R_OK) == 0) return path;
    return "";
}

std::string number_of(std::string const& device) {
    struct ::stat about{};
    REQUIRE(::stat(device.c_str(), &about) == 0);
    return std::to_string(major(about.st_rdev)) + ":" + std::to_string(minor(about.st_rdev));
}

sandbox_config with(std::string const& device) {
    sandbox_config config;
    config.devices = {device};
    return config;
}

/// What a script says in a sandbox, or why it does not start.
template <class Sandbox>
std::string said(std::string const& script, Sandbox const& sandbox) {
    scratch_dir const dir;
    auto const wrapped =
        sandbox.wrap({{"/bin/sh", "-c", "{ " + script + "; } 2>&1"}, {{"PATH", "/usr/bin:/bin"}}, dir.path(), {}, {}});
    if (!wrapped) return wrapped.error().text();
    auto const output = os::program_output(*wrapped, std::chrono::seconds(30));
    return output ? *output : output.error().text();
}

/// A device as code sees it: whether it can be opened, and what the system says of it.
template <class Sandbox>
void check_that_it_opens(std::string const& device) {
    auto const script = "(exec 3< " + device + " && echo opened); cat /sys/dev/char/" + number_of(device) + "/uevent";
    auto const open = said(script, Sandbox{with(device)});
    CHECK(contains(open, "opened\n"));
    CHECK(contains(open, "MAJOR="));
    auto const closed = said(script, Sandbox{});
    CHECK_FALSE(contains(closed, "opened"));
    CHECK_FALSE(contains(closed, "MAJOR="));
}

void touch(fs::path const& file) {
    fs::create_directories(file.parent_path());
    std::ofstream{file};
}

} // namespace

TEST_CASE("devices: bubblewrap opens those that are named, and what the system says of them") {
    NEEDS_BUBBLEWRAP();
    auto const device = some_device();
    if (device.empty()) return test::skip("this machine has no device that can be opened");
    check_that_it_opens<bubblewrap_sandbox>(device);
    CHECK(contains(said("touch /dev/new; touch /sys/new", bubblewrap_sandbox{with(device)}), "Read-only file system"));
}

TEST_CASE("devices: Landlock opens those that are named, and what the system says of them") {
    auto const missing = said("true", landlock_sandbox{});
    if (!missing.empty()) return test::skip(missing);
    auto const device = some_device();
    if (device.empty()) return test::skip("this machine has no device that can be opened");
    check_that_it_opens<landlock_sandbox>(device);
}

TEST_CASE("devices: root's code cannot change those of the host, which it can write to") {
    if (::geteuid() != 0) return ipybox::test::skip("ordinary users own no devices");
    auto const* const script = "echo word > /dev/null && echo written; head -c 3 /dev/zero | wc -c; "
                               "for it in /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin; "
                               "do { chmod 666 $it || chown 0 $it; } 2> /dev/null && echo changed $it; done";
    CHECK(said(script, bubblewrap_sandbox{}) == "written\n3\n");
    auto const device = some_device();
    if (device.empty()) return;
    auto const named = said("chmod 666 " + device + " || true", bubblewrap_sandbox{with(device)});
    CHECK(contains(named, "Read-only file system"));
}

TEST_CASE("devices: what is missing or none is said by name") {
    auto const gone = device_files_of({"/dev/no-such-device"});
    REQUIRE_FALSE(gone);
    CHECK(gone.error() == errc::invalid_argument);
    CHECK(contains(gone.error().text(), "/dev/no-such-device, which this machine does not have"));
    CHECK(contains(device_files_of({"/dev/fd"}).error().text(), "is not a character device"));
    scratch_dir const root;
    CHECK(contains(device_files_of({"nvidia"}, root.path()).error().text(), "is NVIDIA's driver loaded?"));
    auto const refused = srt_sandbox{with("/dev/full")}.describe(root.path());
    REQUIRE_FALSE(refused);
    CHECK(contains(refused.error().text(), "names devices, which srt cannot open"));
}

TEST_CASE("devices: nvidia is all that its driver has") {
    scratch_dir const dir;
    auto const root = fs::canonical(dir.path());
    for (auto const* node :
         {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "nvidia-other", "nvme0", "tty"})
        touch(root / "dev" / node);
    fs::create_directories(root / "proc/driver/nvidia/gpus/0000:01:00.0");
    fs::create_directories(root / "sys/devices/pci0000:00/0000:01:00.0");
    fs::create_directories(root / "sys/bus/pci/devices");
    fs::create_symlink("../../../devices/pci0000:00/0000:01:00.0", root / "sys/bus/pci/devices/0000:01:00.0");
    auto const found = device_files_of({"nvidia"}, root);
    REQUIRE(found);
    CHECK(found->nodes == std::vector<fs::path>{"/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl",
                                                "/dev/nvidia-caps/nvidia-cap1"});
    CHECK(found->directories == std::vector<fs::path>{"/sys/devices/pci0000:00/0000:01:00.0"});
    CHECK(found->links.at("/sys/bus/pci/devices/0000:01:00.0") == "/sys/devices/pci0000:00/0000:01:00.0");
}

TEST_CASE("devices: in a configuration") {
    auto const read = sandbox_config::parse(R"({"devices": ["nvidia", "/dev/dri/renderD128"]})");
    REQUIRE(read);
    CHECK(read->devices == std::vector<std::string>{"nvidia", "/dev/dri/renderD128"});
    CHECK(sandbox_config::parse(read->text())->devices == read->devices);
    for (auto const* wrong : {"gpu", "/dev/", "/dev/../etc/passwd", "/etc/passwd", "/dev/a\\u0000", "dev/fuse"}) {
        auto const refused = sandbox_config::parse("{\"devices\": [\"" + std::string(wrong) + "\"]}", "file");
        INFO(wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().text() == "file:1: devices/0: a path below /dev is wanted, or nvidia");
    }
}

TEST_CASE("devices: they are described") {
    auto const device = some_device();
    if (device.empty()) return test::skip("this machine has no device that can be opened");
    scratch_dir const dir;
    auto const seen = bubblewrap_sandbox{with(device)}.describe(dir.path());
    REQUIRE(seen);
    CHECK(contains(seen->text(), "devices: " + device + "\n"));
}

} // namespace devices_test
