#include <ipybox/os/mount_table.hpp>

#include <support/catch.hpp>

#include <filesystem>
#include <vector>

namespace {

using ipybox::os::mount_table;
using paths = std::vector<std::filesystem::path>;

constexpr auto mounts = R"(21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
30 21 8:1 /home/me/work /home/me/also rw - ext4 /dev/sda1 rw
31 21 8:1 /home /var/home rw - ext4 /dev/sda1 rw
32 21 8:2 / /data rw - ext4 /dev/sdb1 rw
33 21 8:1 /home/me/work/part /srv/a\040part rw - ext4 /dev/sda1 rw
)";

} // namespace

TEST_CASE("mount_table: other mounts of the same file system that show a path") {
    auto const table = mount_table::parse(mounts);
    CHECK(table.other_names("/home/me/work/.env") == paths{"/home/me/also/.env", "/var/home/me/work/.env"});
    CHECK(table.other_names("/home/me/also/.env") == paths{"/home/me/work/.env", "/var/home/me/work/.env"});
    CHECK(table.other_names("/home/me/work/part/x") ==
          paths{"/home/me/also/part/x", "/var/home/me/work/part/x", "/srv/a part/x"});
    CHECK(table.other_names("/home/me/work") == paths{"/home/me/also", "/var/home/me/work", "/srv/a part"});
    CHECK(table.other_names("/data/x").empty());
    CHECK(table.other_names("/proc/1").empty());
    CHECK(table.other_names("/etc/passwd").empty());
}

TEST_CASE("mount_table: lines that say nothing are passed over") {
    CHECK(mount_table::parse("").other_names("/x").empty());
    CHECK(mount_table::parse("1 2\n\n\\\n").other_names("/x").empty());
    CHECK_FALSE(mount_table::now().other_names("/").size() > 100'000);
}
