#include <ipybox/os/usable_memory.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace {

using ipybox::detail::memory_of_control_groups;
using ipybox::test::scratch_dir;

/// A machine of which only the files of control groups can be seen.
class groups {
  public:
    explicit groups(std::string const& own) { put("proc/self/cgroup", own); }

    groups& put(std::filesystem::path const& file, std::string const& text) {
        std::filesystem::create_directories((dir_.path() / file).parent_path());
        std::ofstream(dir_.path() / file) << text;
        return *this;
    }

    [[nodiscard]] std::optional<std::uint64_t> memory() const { return memory_of_control_groups(dir_.path()); }

  private:
    scratch_dir dir_;
};

} // namespace

TEST_CASE("memory of control groups: the least of version 2, of the group and of those above it") {
    groups machine("0::/user.slice/box\n");
    CHECK(machine.memory() == std::nullopt);
    machine.put("sys/fs/cgroup/user.slice/box/memory.max", "max\n");
    CHECK(machine.memory() == std::nullopt);
    machine.put("sys/fs/cgroup/user.slice/memory.max", "4000\n");
    CHECK(machine.memory() == 4000u);
    machine.put("sys/fs/cgroup/user.slice/box/memory.max", "3000\n");
    CHECK(machine.memory() == 3000u);
}

TEST_CASE("memory of control groups: a container sees its own as the root") {
    groups machine("0::/../outside\n");
    machine.put("sys/fs/cgroup/memory.max", "5000\n");
    CHECK(machine.memory() == 5000u);
    groups rooted("0::/\n");
    rooted.put("sys/fs/cgroup/memory.max", "6000\n");
    CHECK(rooted.memory() == 6000u);
}

TEST_CASE("memory of control groups: version 1, where a number near all addresses is no limit") {
    groups machine("9:cpu,cpuacct:/\n4:memory:/box\n0::/\n");
    machine.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(machine.memory() == std::nullopt);
    machine.put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "7000\n");
    CHECK(machine.memory() == 7000u);
}

TEST_CASE("memory of control groups: files that say nothing, and none") {
    CHECK(groups("").memory() == std::nullopt);
    CHECK(groups("nonsense\n0:\n").memory() == std::nullopt);
    CHECK(memory_of_control_groups("/nonexistent") == std::nullopt);
}
