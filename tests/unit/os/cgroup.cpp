#include <ipybox/os/cgroup.hpp>
#include <ipybox/os/cgroup_delegation.hpp>
#include <ipybox/os/process.hpp>

#include <support/catch.hpp>
#include <support/eventually.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/test_cgroup.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using ipybox::errc;
using ipybox::exit_status;
using ipybox::test::scratch_dir;
using ipybox::test::test_cgroup;
namespace os = ipybox::os;

/// A directory with the files of a group that is delegated, empty, and has both controllers.
class scripted_cgroup {
  public:
    scripted_cgroup() {
        write("cgroup.type", "domain\n");
        write("cgroup.kill", "");
        write("cgroup.procs", "");
        write("cgroup.subtree_control", "");
        write("cgroup.controllers", "cpu memory pids\n");
    }
    void write(std::string const& name, std::string const& text) { dir_.write("box/" + name, text); }
    void remove(std::string const& name) { std::filesystem::remove(group() / name); }
    /// What the system has beside it, as find_own_cgroup reads it.
    void write_root(std::string const& name, std::string const& text) { dir_.write("root/" + name, text); }
    [[nodiscard]] std::filesystem::path group() const { return dir_.path() / "box"; }
    [[nodiscard]] std::filesystem::path root() const { return dir_.path() / "root"; }
    [[nodiscard]] std::string refusal() const {
        auto const usable = os::check_delegated_cgroup(group(), {"memory", "pids"}, root());
        if (usable) return "usable";
        CHECK(usable.error() == errc::sandbox_unavailable);
        CHECK_THAT(usable.error().text(), Contains("the cgroup " + group().string() + " (the limit `cgroup`)"));
        return usable.error().text();
    }

  private:
    scratch_dir dir_;
};

std::string name_of_maker(std::string const& pid_namespace, std::string const& pid, std::string const& start) {
    return "ipybox-" + pid_namespace + "-" + pid + "-" + start + "-1";
}

/// The three numbers in the name of a group of this process.
std::vector<std::string> own_numbers() {
    auto const name = os::new_cgroup_name().substr(7);
    std::vector<std::string> numbers;
    for (std::size_t begin = 0; numbers.size() < 3;) {
        auto const end = name.find('-', begin);
        numbers.push_back(name.substr(begin, end - begin));
        begin = end + 1;
    }
    return numbers;
}

/// A process that sleeps, in a group.
os::process sleeper_in(os::cgroup const& group, std::string const& command = "sleep 60") {
    ipybox::launch_spec const spec{{"/bin/sh", "-c", command}, {{"PATH", "/usr/bin:/bin"}}, "/"};
    auto const entrance = group.entrance();
    REQUIRE(entrance);
    auto started = os::start_process(spec, {}, os::orphans::left, entrance->get());
    REQUIRE(started);
    return std::move(*started);
}

bool is_populated(std::filesystem::path const& group) {
    return ipybox::test::read_file(group / "cgroup.events").find("populated 1") != std::string::npos;
}

} // namespace

TEST_CASE("cgroup: one that is delegated and empty can be used") {
    scripted_cgroup const box;
    CHECK(box.refusal() == "usable");
}

TEST_CASE("cgroup: what is missing is named, with the cure") {
    scripted_cgroup box;
    SECTION("the root of a hierarchy") {
        box.remove("cgroup.type");
        CHECK_THAT(box.refusal(), Contains("it is the root of its hierarchy; name a group below it"));
    }
    SECTION("an old system") {
        box.remove("cgroup.kill");
        CHECK_THAT(box.refusal(), Contains("needs Linux 5.14"));
    }
    SECTION("threads") {
        box.write("cgroup.type", "domain threaded\n");
        CHECK_THAT(box.refusal(), Contains("its type is domain threaded, and groups with limits need \"domain\""));
    }
    SECTION("frozen") {
        box.write("cgroup.events", "populated 0\nfrozen 1\n");
        CHECK_THAT(box.refusal(),
                   Contains("it is frozen") && Contains("write 0 to " + (box.group() / "cgroup.freeze").string()));
        box.write("cgroup.events", "populated 0\nfrozen 0\n");
        CHECK(box.refusal() == "usable");
    }
    SECTION("no rights") {
        box.remove("cgroup.subtree_control");
        CHECK_THAT(box.refusal(), Contains("this user may not write to " + box.group().string()) &&
                                      Contains("systemd-run --user --pipe -p Delegate=yes"));
    }
    SECTION("processes") {
        box.write("cgroup.procs", "17\n18\n");
        CHECK_THAT(box.refusal(),
                   Contains("it has processes, 2 of them, the first one is 17") && Contains("name an empty one"));
    }
    SECTION("no controllers") {
        box.write("cgroup.controllers", "cpu memorylike\n");
        CHECK_THAT(box.refusal(),
                   Contains("it does not have the controllers memory and pids, write \"+memory +pids\" to " +
                            (box.group().parent_path() / "cgroup.subtree_control").string()));
    }
    SECTION("controllers that version 1 has") {
        box.write("cgroup.controllers", "memory\n");
        box.write_root("proc/self/cgroup", "8:pids:/\n0::/\n");
        CHECK_THAT(box.refusal(), Contains("the controller pids, which this machine uses in cgroup version 1") &&
                                      Contains("systemd.unified_cgroup_hierarchy=1"));
    }
}

TEST_CASE("cgroup: a process is moved by the rights to the group that is above both") {
    scratch_dir const dir;
    auto const make = [&dir](std::string const& group, std::string const& controllers) {
        for (auto const* name : {"cgroup.kill", "cgroup.procs", "cgroup.subtree_control"})
            dir.write("sys/fs/cgroup" + group + "/" + name, "");
        dir.write("sys/fs/cgroup" + group + "/cgroup.type", "domain\n");
        dir.write("sys/fs/cgroup" + group + "/cgroup.controllers", controllers);
        return dir.path() / ("sys/fs/cgroup" + group);
    };
    make("", "memory pids\n");
    make("/user/service/app", "memory pids\n");
    make("/user/service", "memory pids\n");
    auto const kernels = make("/user/service/kernels", "memory pids\n");
    dir.write("proc/self/cgroup", "0::/user/service/app\n");
    CHECK(os::check_delegated_cgroup(kernels, {"memory"}, dir.path()));

    // A session of ssh lies beside what systemd delegates.
    dir.write("proc/self/cgroup", "0::/user/session\n");
    std::filesystem::create_directories(dir.path() / "sys/fs/cgroup/user/session");
    auto const usable = os::check_delegated_cgroup(kernels, {"memory"}, dir.path());
    REQUIRE_FALSE(usable);
    CHECK_THAT(usable.error().text(),
               Contains("this process is in " + dir.path().string() + "/sys/fs/cgroup/user/session") &&
                   Contains("write to " + dir.path().string() + "/sys/fs/cgroup/user/cgroup.procs") &&
                   Contains("DelegateSubgroup=app"));
}

TEST_CASE("cgroup: where that of this process lies") {
    scratch_dir const dir;
    CHECK_FALSE(os::find_own_cgroup(dir.path()));
    dir.write("proc/self/cgroup", "8:pids:/x\n0::/user/app\n");
    CHECK_FALSE(os::find_own_cgroup(dir.path())); // nothing is mounted
    dir.write("sys/fs/cgroup/unified/cgroup.controllers", "");
    REQUIRE(os::find_own_cgroup(dir.path()));
    CHECK(os::find_own_cgroup(dir.path())->group == dir.path() / "sys/fs/cgroup/unified/user/app");
    dir.write("sys/fs/cgroup/cgroup.controllers", "");
    CHECK(os::find_own_cgroup(dir.path())->group == dir.path() / "sys/fs/cgroup/user/app");
    CHECK(os::find_own_cgroup(dir.path())->hierarchy == dir.path() / "sys/fs/cgroup");
    dir.write("proc/self/cgroup", "0::/\n");
    CHECK(os::find_own_cgroup(dir.path())->group == dir.path() / "sys/fs/cgroup");
    dir.write("proc/self/cgroup", "0::/../outside\n");
    CHECK_FALSE(os::find_own_cgroup(dir.path()));
    dir.write("proc/self/cgroup", "1:name=systemd:/\n");
    CHECK_FALSE(os::find_own_cgroup(dir.path()));
}

TEST_CASE("cgroup: what a machine has, and what to do about it") {
    scratch_dir const dir;
    auto const found = [&dir] { return os::find_cgroup_support(dir.path()); };
    CHECK_THAT(found().advice, Contains("there is no cgroup version 2 here"));
    dir.write("proc/self/cgroup", "4:memory:/\n8:pids:/\n0::/service/app\n");
    dir.write("sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
    dir.write("sys/fs/cgroup/service/app/cgroup.controllers", "hugetlb\n");
    CHECK(found().controllers == "hugetlb");
    CHECK_THAT(found().advice, Contains("memory and pids are missing") && Contains("unified_cgroup_hierarchy=1"));
    dir.write("proc/self/cgroup", "0::/service/app\n");
    dir.write("sys/fs/cgroup/service/app/cgroup.controllers", "cpu memory pids\n");
    CHECK_FALSE(found().delegated);
    CHECK_THAT(found().advice, Contains("Delegate=yes"));
    for (auto const* name : {"cgroup.procs", "cgroup.subtree_control"})
        dir.write(std::string("sys/fs/cgroup/service/app/") + name, "1\n");
    CHECK(found().delegated);
    CHECK_THAT(found().advice, Contains("this process is in the delegated group itself"));
    for (auto const* name : {"cgroup.procs", "cgroup.subtree_control"})
        dir.write(std::string("sys/fs/cgroup/service/") + name, "");
    CHECK(found().delegated);
    CHECK_THAT(found().advice, Contains("../kernels"));
}

TEST_CASE("cgroup: memory beyond the limit is told from other ends") {
    scratch_dir const dir;
    CHECK_FALSE(os::exceeded_memory_of(dir.path()));
    dir.write("memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
    dir.write("memory.max", "104857600\n");
    CHECK(os::exceeded_memory_of(dir.path()) ==
          exit_status::exceeded_limit{exit_status::exceeded_limit::kind::memory, 104857600, 104857600});
    dir.write("memory.peak", "104865792\n");
    CHECK(os::exceeded_memory_of(dir.path()) ==
          exit_status::exceeded_limit{exit_status::exceeded_limit::kind::memory, 104865792, 104857600});
    SECTION("for the limit of a group above it") {
        dir.write("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n");
        CHECK_FALSE(os::exceeded_memory_of(dir.path()));
    }
    SECTION("it reached the limit, and something else ended it") {
        dir.write("memory.events", "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n");
        CHECK_FALSE(os::exceeded_memory_of(dir.path()));
    }
    SECTION("no limit") {
        dir.write("memory.max", "max\n");
        CHECK_FALSE(os::exceeded_memory_of(dir.path()));
    }
}

TEST_CASE("cgroup: names say which process has made a group, and whether it has ended") {
    auto const own = own_numbers();
    CHECK(os::new_cgroup_name() != os::new_cgroup_name());
    CHECK_FALSE(os::is_stale_cgroup_name(os::new_cgroup_name()));
    CHECK(os::is_stale_cgroup_name(name_of_maker(own[0], own[1], own[2] + "1")));       // the number was given again
    CHECK(os::is_stale_cgroup_name(name_of_maker(own[0], "4999999", "1")));             // there is no such process
    CHECK_FALSE(os::is_stale_cgroup_name(name_of_maker(own[0] + "1", "4999999", "1"))); // of another container
    for (auto const* name : {"", "ipybox-", "ipybox-1", "ipybox-1-2-3", "app.slice", "ipybox-1-2-3-x"})
        CHECK_FALSE(os::is_stale_cgroup_name(name));
    for (auto const* start : {"0", "1x", "-1"})
        CHECK_FALSE(os::is_stale_cgroup_name(name_of_maker(own[0], "4999999", start)));
    CHECK_FALSE(os::is_stale_cgroup_name(name_of_maker(own[0], "0", "1")));
    CHECK_FALSE(os::is_stale_cgroup_name(name_of_maker(own[0], "99999999999", "1")));

    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const child = ::fork();
    if (child == 0) {
        auto const name = os::new_cgroup_name();
        (void)!::write(ends[1], name.data(), name.size());
        ::pause();
        ::_exit(0);
    }
    char text[256];
    auto const size = ::read(ends[0], text, sizeof text);
    REQUIRE(size > 0);
    std::string const of_child(text, static_cast<std::size_t>(size));
    CHECK_FALSE(os::is_stale_cgroup_name(of_child));
    ::kill(child, SIGKILL);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(os::is_stale_cgroup_name(of_child)); // it has ended, and no one has waited for it
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(os::is_stale_cgroup_name(of_child));
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("cgroup: a process whose first thread has ended goes on as long as another runs") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t const child = ::fork();
    if (child == 0) {
        std::thread([&ends] {
            auto const name = os::new_cgroup_name();
            (void)!::write(ends[1], name.data(), name.size());
            ::pause();
        }).detach();
        ::syscall(SYS_exit, 0); // of this thread alone
    }
    char text[256];
    auto const size = ::read(ends[0], text, sizeof text);
    REQUIRE(size > 0);
    std::string const of_child(text, static_cast<std::size_t>(size));
    auto const is_zombie = [child] {
        return ipybox::test::read_file("/proc/" + std::to_string(child) + "/stat").find(") Z ") != std::string::npos;
    };
    CHECK(ipybox::test::eventually(is_zombie));
    CHECK_FALSE(os::is_stale_cgroup_name(of_child));
    ::kill(child, SIGKILL);
    siginfo_t ended{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(is_zombie());
    CHECK(os::is_stale_cgroup_name(of_child));
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("cgroup: groups of processes that have ended are removed, and no others") {
    scratch_dir const dir;
    auto const own = own_numbers();
    auto const living = os::new_cgroup_name();
    auto const stale = name_of_maker(own[0], "4999999", "1");
    for (auto const& name : {living, stale, std::string("app")}) std::filesystem::create_directory(dir.path() / name);
    std::filesystem::create_directories(dir.path() / stale / "kernel-1");
    os::remove_stale_cgroups(dir.path(), 1s);
    CHECK_FALSE(exists(dir.path() / stale));
    CHECK(exists(dir.path() / living));
    CHECK(exists(dir.path() / "app"));
}

TEST_CASE("cgroup: processes that do not end delay no other") {
    scratch_dir const dir;
    dir.write("group/cgroup.kill", "");
    dir.write("group/cgroup.events", "populated 1\nfrozen 0\n"); // a directory with files is not removed
    auto const begun = std::chrono::steady_clock::now();
    CHECK_FALSE(os::remove_cgroup(dir.path() / "group", 100ms));
    auto const took = std::chrono::steady_clock::now() - begun;
    CHECK(took >= 100ms);
    CHECK(took < 5s);
    CHECK(ipybox::test::read_file(dir.path() / "group/cgroup.kill") == "1");
    CHECK(os::remove_cgroup(dir.path() / "there-is-none", 0ms));
}

TEST_CASE("cgroup: a directory that is no group is refused, and none stays that was made") {
    scratch_dir const dir;
    auto const made = os::prepare_delegated_cgroup(dir.path() / "box", {});
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::sandbox_unavailable);
    CHECK_THAT(made.error().text(), Contains("it is no directory of cgroup version 2"));
    CHECK_FALSE(exists(dir.path() / "box"));
    auto const missing = os::prepare_delegated_cgroup(dir.path() / "no/box", {});
    REQUIRE_FALSE(missing);
    CHECK_THAT(missing.error().text(), Contains("it does not exist, and it cannot be made"));
    if (exists(std::filesystem::path("/sys/fs/cgroup/memory/cgroup.procs"))) { // a machine with version 1
        auto const old = os::prepare_delegated_cgroup("/sys/fs/cgroup/memory", {});
        REQUIRE_FALSE(old);
        CHECK_THAT(old.error().text(), Contains("it belongs to cgroup version 1, needed is version 2"));
    }
}

TEST_CASE("cgroup: a process is in its group from the beginning, and ends with it") {
    test_cgroup const box;
    if (!box.is_there()) { // no version 2, or no rights: that is told
        auto const refused = os::prepare_delegated_cgroup(box.directory(), {});
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::sandbox_unavailable);
        return;
    }
    REQUIRE(os::prepare_delegated_cgroup(box.directory(), {}));
    auto group = os::cgroup::make(box.directory() / os::new_cgroup_name(), 5s);
    REQUIRE(group);
    auto const directory = (*group)->directory();
    auto process = sleeper_in(**group, "setsid sleep 60 & sleep 60");
    auto const where = ipybox::test::read_file("/proc/" + std::to_string(process.pid()) + "/cgroup");
    CHECK_THAT(where, Contains(directory.filename().string() + "\n"));
    CHECK(is_populated(directory));
    auto const used = os::check_delegated_cgroup(directory, {});
    REQUIRE_FALSE(used);
    CHECK_THAT(used.error().text(), Contains("it has processes"));
    group->reset();
    CHECK_FALSE(exists(directory));
    REQUIRE(process.wait(5s));
    CHECK(process.wait(0s)->signal == SIGKILL);
}

TEST_CASE("cgroup: a link leads to the group that it names now") {
    test_cgroup const box;
    if (!box.is_there()) return; // the case above has said so
    scratch_dir const dir;
    std::filesystem::create_symlink(box.directory(), dir.path() / "link");
    auto const usable = os::prepare_delegated_cgroup(dir.path() / "link", {});
    REQUIRE(usable);
    CHECK(*usable == box.directory());
    CHECK(os::hierarchy_of(*usable) == os::find_own_cgroup()->hierarchy);
    std::filesystem::create_symlink("nowhere", dir.path() / "dangling");
    auto const refused = os::prepare_delegated_cgroup(dir.path() / "dangling", {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::sandbox_unavailable);
}

TEST_CASE("cgroup: one that is frozen is refused, as a process that enters it does not come to its program") {
    test_cgroup const box;
    if (!box.is_there()) return;
    auto const below = box.directory() / "below";
    std::filesystem::create_directory(below);
    std::ofstream(box.directory() / "cgroup.freeze") << 1;
    for (auto const& group : {box.directory(), below}) {
        auto const refused = os::prepare_delegated_cgroup(group, {});
        REQUIRE_FALSE(refused);
        CHECK_THAT(refused.error().text(), Contains("it is frozen, or a group above it is"));
    }
    std::ofstream(box.directory() / "cgroup.freeze") << 0;
    CHECK(os::prepare_delegated_cgroup(below, {}));
}

TEST_CASE("cgroup: one more than the groups above allow is refused, with the name of the bound") {
    test_cgroup const box;
    if (!box.is_there()) return;
    std::ofstream(box.directory() / "cgroup.max.descendants") << 1;
    auto const first = os::cgroup::make(box.directory() / os::new_cgroup_name(), 0s);
    REQUIRE(first);
    auto const second = os::cgroup::make(box.directory() / os::new_cgroup_name(), 0s);
    REQUIRE_FALSE(second);
    CHECK(second.error() == errc::sandbox_unavailable);
    CHECK_THAT(second.error().text(), Contains("cgroup.max.descendants"));
}

TEST_CASE("cgroup: groups in each other are removed however deep they are, also beside one that is busy") {
    test_cgroup const box;
    if (!box.is_there()) return;
    auto group = os::cgroup::make(box.directory() / os::new_cgroup_name(), 5s);
    REQUIRE(group);
    auto const directory = (*group)->directory();
    std::string const long_name(250, 'n');
    {
        os::unique_fd at(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (int depth = 0; depth < 40; ++depth) { // 10,000 characters
            REQUIRE(::mkdirat(at.get(), "beside", 0755) == 0);
            REQUIRE(::mkdirat(at.get(), long_name.c_str(), 0755) == 0);
            at = os::unique_fd(::openat(at.get(), long_name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            REQUIRE(at);
        }
    }
    auto const busy = os::cgroup::make(directory / "busy", 0s);
    REQUIRE(busy);
    auto process = sleeper_in(**busy);
    group->reset();
    CHECK_FALSE(exists(directory));
    REQUIRE(process.wait(5s));
}

TEST_CASE("cgroup: what a killed process left behind is removed by the next one") {
    test_cgroup const box;
    if (!box.is_there()) return; // the case above has said so
    pid_t const child = ::fork();
    if (child == 0) {
        auto const all = os::cgroup::make(box.directory() / os::new_cgroup_name(), 1s);
        if (!all) ::_exit(1);
        auto const one = os::cgroup::make((*all)->directory() / "kernel-1", 0s);
        if (!one) ::_exit(2);
        auto const process = sleeper_in(**one);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(box.groups().size() == 1);
    CHECK(is_populated(box.groups()[0]));
    os::remove_stale_cgroups(box.directory(), 5s);
    CHECK(box.groups().empty());
}

TEST_CASE("cgroup: a copy of the process that has made a group leaves it alone") {
    test_cgroup const box;
    if (!box.is_there()) return;
    auto group = os::cgroup::make(box.directory() / os::new_cgroup_name(), 1s);
    REQUIRE(group);
    auto process = sleeper_in(**group);
    pid_t const child = ::fork();
    if (child == 0) {
        group->reset();
        ::_exit(0);
    }
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(exists((*group)->directory()));
    CHECK_FALSE(process.wait(0s));
}

TEST_CASE("cgroup: memory and processes beyond the limit") {
    test_cgroup const box;
    if (!box.is_there() || !box.limits()) { // version 1 has the controllers: that is told
        auto const refused = os::prepare_delegated_cgroup(box.directory(), {"memory", "pids"});
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::sandbox_unavailable);
        return;
    }
    REQUIRE(os::prepare_delegated_cgroup(box.directory(), {"memory", "pids"}));
    REQUIRE(os::give_controllers(box.directory(), "+memory +pids"));
    auto const group = os::cgroup::make(box.directory() / os::new_cgroup_name(), 5s);
    REQUIRE(group);
    REQUIRE((*group)->limit_memory(32 << 20));
    REQUIRE((*group)->limit_processes(5));
    auto full = sleeper_in(**group, "for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait");
    CHECK(ipybox::test::eventually([&] {
        return ipybox::test::read_file((*group)->directory() / "pids.events").find("max 0") == std::string::npos;
    }));
    CHECK(ipybox::test::read_file((*group)->directory() / "pids.current") == "5\n");
    CHECK_FALSE((*group)->exceeded_memory());
    full.kill_tree();
    REQUIRE(full.wait(5s));
    CHECK(ipybox::test::eventually([&] { return !is_populated((*group)->directory()); }));

    auto eater = sleeper_in(**group, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 60");
    REQUIRE(eater.wait(30s));
    CHECK(eater.wait(0s)->signal == SIGKILL);
    REQUIRE((*group)->exceeded_memory());
    CHECK((*group)->exceeded_memory()->allowed == 32 << 20);
    // The others are ended with it.
    CHECK(ipybox::test::eventually([&] { return !is_populated((*group)->directory()); }));
}
