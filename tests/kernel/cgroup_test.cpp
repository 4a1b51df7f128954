#include <ipybox/os/landlock.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/eventually.hpp"
#include "support/kernel_box.hpp"
#include "support/test_cgroup.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

constexpr std::uint64_t mebibyte = 1024 * 1024;

/// The limits of a test: where the system cannot limit memory and processes in the group, none of these.
sandbox_limits limits_within(test_cgroup const& box) {
    sandbox_limits limits;
    limits.cgroup = box.directory();
    limits.kernel_memory = box.limits() ? std::optional(300 * mebibyte) : std::nullopt;
    limits.processes = box.limits() ? std::optional<std::uint64_t>(60) : std::nullopt;
    return limits;
}

/// The group of each process below the box, as the system sees it: the names of the groups with processes.
std::vector<std::string> populated_groups(test_cgroup const& box) {
    std::vector<std::string> names;
    for (auto const& all : box.groups())
        for (auto const& group : test_cgroup::groups_in(all))
            if (!read_file(group / "cgroup.procs").empty()) names.push_back(group.filename().string());
    return names;
}

constexpr char const* show_group = "print(open('/proc/self/cgroup').read().strip().split('/')[-1])";
constexpr char const* show_group_of_command = "!tail -n 1 /proc/self/cgroup | sed 's/.*\\///'";

/// A start that fails because there is no such group, with a text that helps.
void check_refusal(test_cgroup const& box) {
    kernel_box<> refused([&](executor_options& options) { options.sandbox.limits.cgroup = box.directory(); });
    auto const started = refused->execute("1");
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::sandbox_unavailable);
    CHECK(started.error() == condition::cannot_start);
    CHECK_THAT(started.error().text(), Contains("the cgroup " + box.directory().string() + " (the limit `cgroup`)"));
    CHECK(box.groups().empty());
}

constexpr char const* fills_its_group = R"(
import time
kept = []
while len(kept) < 1000: kept.append(b'1' * (1 << 20))
time.sleep(1000)
)";

constexpr char const* forks_in_its_group = R"(
import os, time
count = 0
try:
    while count < 400:
        if not os.fork(): time.sleep(1000)
        count += 1
except BlockingIOError as error: print(type(error).__name__, 10 < count < 60)
)";

} // namespace

TEMPLATE_TEST_CASE("cgroup: a kernel and its commands are in a group of their own, which goes with it", "[kernel]",
                   no_sandbox, bubblewrap_sandbox) {
    test_cgroup const delegated;
    if (!delegated.is_there()) return check_refusal(delegated);
    kernel_box<socketpair_transport, TestType> box(
        [&](executor_options& options) { options.sandbox.limits = limits_within(delegated); });
    CHECK(box.run(show_group) == "kernel-1");
    CHECK(box.run(show_group_of_command) == "kernel-1");
    CHECK(populated_groups(delegated) == std::vector<std::string>{"kernel-1", "supervisor"});
    CHECK(box.run("!no-such-program").find("no-such-program") != std::string::npos);
    REQUIRE(box->reset());
    CHECK(box.run(show_group) == "kernel-2");
    CHECK(populated_groups(delegated) == std::vector<std::string>{"kernel-2", "supervisor"});
    CHECK(box.run("import subprocess\nleft = subprocess.Popen(['sleep', '60'], start_new_session=True)") == "");
    box.drop();
    CHECK(delegated.groups().empty());
}

TEST_CASE("cgroup: foreign kernels are in groups as well", "[kernel]") {
    test_cgroup const delegated;
    if (!delegated.is_there()) return check_refusal(delegated);
    kernel_box<zmq_transport> box(
        [&](executor_options& options) { options.sandbox.limits = limits_within(delegated); });
    CHECK(box.run(show_group) == "kernel-1");
    box.drop();
    CHECK(delegated.groups().empty());
}

TEST_CASE("cgroup: one that cannot limit what is asked for is refused", "[kernel]") {
    test_cgroup const delegated;
    if (!delegated.is_there()) return check_refusal(delegated);
    if (!delegated.limits()) check_refusal(delegated);
    kernel_box<> box([](executor_options& options) { options.sandbox.limits.cgroup = options.working_dir / "box"; });
    CHECK_THAT(box.run("1"), Contains("it is no directory of cgroup version 2"));
}

TEST_CASE("cgroup: code cannot leave its group", "[kernel]") {
    test_cgroup const delegated;
    if (!delegated.is_there()) return check_refusal(delegated);
    auto const hierarchy = os::find_own_cgroup()->hierarchy;
    auto const escape = "moved = []\n"
                        "for path in ('" +
                        hierarchy.string() + "', '" + delegated.directory().string() +
                        "'):\n"
                        "    try:\n"
                        "        with open(path + '/cgroup.procs', 'w') as file: file.write('0')\n"
                        "        moved.append(path)\n"
                        "    except OSError: pass\n"
                        "print(moved)";
    scratch_dir const dir;
    auto options = options_in(dir.path());
    options.sandbox.limits = limits_within(delegated);
    auto const check = [&](any_sandbox const& sandbox) {
        executor box(options, deny_approval{}, sandbox);
        CHECK(text_of(box.execute(escape)) == "[]");
        auto const command = "!echo 0 2>/dev/null > " + delegated.directory().string() + "/cgroup.procs || echo kept";
        CHECK_THAT(text_of(box.execute(command)), Contains("kept"));
        CHECK(text_of(box.execute(show_group)) == "kernel-1");
    };
    check(bubblewrap_sandbox());
    if (os::landlock_abi() >= os::landlock_abi_with_scopes) check(landlock_sandbox());
    auto const opened = [](std::filesystem::path const& path) {
        return sandbox_config::parse(R"({"filesystem": {"allowWrite": [".", ")" + path.string() + R"("]}})").value();
    };
    for (auto const& path : {hierarchy, delegated.directory()}) {
        executor box(options, deny_approval{}, bubblewrap_sandbox(opened(path)));
        auto const refused = box.execute("1");
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == errc::invalid_argument);
        CHECK_THAT(refused.error().text(),
                   Contains("the allowWrite path " + path.string() + " belongs to control groups"));
    }
    if (os::landlock_abi() < os::landlock_abi_with_scopes) return;
    executor box(options, deny_approval{}, landlock_sandbox(opened(hierarchy.parent_path())));
    auto const refused = box.execute("1");
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().text(), Contains(hierarchy.string() + " must not be changed"));
}

TEST_CASE("cgroup: within walls each kernel is in a group, with the first process of its room", "[kernel]") {
    test_cgroup const delegated;
    if (!delegated.is_there()) return check_refusal(delegated);
    scratch_dir const dir;
    runtime::options shared{.working_dir = dir.path(), .kernel = {.python = python()}};
    shared.sandbox.limits = limits_within(delegated);
    shared.walls = true;
    auto both = std::make_unique<runtime>(shared);
    auto const session = [&](std::string const& name) {
        auto options = options_in(dir.path());
        options.working_dir = dir.path() / name;
        std::filesystem::create_directories(options.working_dir);
        return std::make_unique<executor>(options, deny_approval{}, *both);
    };
    auto ada = session("ada");
    auto bob = session("bob");
    CHECK(text_of(ada->execute(show_group)) == "kernel-1");
    CHECK(text_of(bob->execute(show_group)) == "kernel-2");
    CHECK(text_of(bob->execute(show_group_of_command)) == "kernel-2");
    CHECK(text_of(ada->execute("open('/proc/1/cgroup').read().strip().split('/')[-1]")) == "'kernel-1'");
    if (delegated.limits()) {
        auto const eaten = ada->execute(fills_its_group);
        REQUIRE_FALSE(eaten);
        CHECK(eaten.error().status().exceeded);
        CHECK(text_of(bob->execute("6 * 7")) == "42");
    }
    ada.reset();
    CHECK(eventually([&] { return test_cgroup::groups_in(delegated.groups().at(0)).size() == 2; })); // bob's is left
    bob.reset();
    both.reset();
    CHECK(delegated.groups().empty());
}

TEST_CASE("cgroup: the limits of a kernel with all that it starts have no gap, and leave the others alone",
          "[kernel]") {
    test_cgroup const delegated;
    if (!delegated.is_there() || !delegated.limits()) return check_refusal(delegated);
    scratch_dir const dir;
    auto const options = options_in(dir.path());
    runtime::options shared{.working_dir = dir.path(), .kernel = {.python = python()}};
    shared.sandbox.limits = limits_within(delegated);
    shared.walls = false;
    runtime const both(shared, bubblewrap_sandbox());
    executor attacker(options, deny_approval{}, both);
    executor neighbour(options, deny_approval{}, both);
    REQUIRE(text_of(neighbour.execute("kept = 41")).empty());
    execute_options const bounded{.timeout = 100s};

    auto const bomb = attacker.execute(forks_in_its_group, bounded);
    CHECK(text_of(bomb) == "BlockingIOError True");
    CHECK(text_of(neighbour.execute("!echo $((6 * 7))")) == "42"); // its processes count by themselves
    REQUIRE(attacker.reset());

    auto const check_end = [&](result<execution_result> const& eaten) {
        REQUIRE_FALSE(eaten);
        CHECK(eaten.error() == errc::kernel_died);
        CHECK(eaten.error().status().signal == SIGKILL);
        REQUIRE(eaten.error().status().exceeded);
        CHECK(eaten.error().status().exceeded->which == exit_status::exceeded_limit::kind::memory);
        CHECK(eaten.error().status().exceeded->allowed == 300 * mebibyte);
        CHECK_THAT(eaten.error().text(), Contains("out of memory: it took"));
        CHECK(text_of(neighbour.execute("kept")) == "41");
        REQUIRE(attacker.reset());
        CHECK(text_of(attacker.execute("6 * 7")) == "42");
    };
    check_end(attacker.execute(fills_its_group, bounded));
    // Files in memory count, which no process has mapped.
    check_end(attacker.execute("import os, time\nfd = os.memfd_create('hidden')\n"
                               "for _ in range(1000): os.write(fd, bytes(1 << 20))\ntime.sleep(1000)",
                               bounded));
    // And so does what a command takes.
    check_end(attacker.execute(
        "!head -c 600000000 /dev/zero | tail -c 600000000 | wc -c\nimport time\ntime.sleep(1000)", bounded));
    // The system ended a kernel for other reasons.
    REQUIRE(text_of(attacker.execute("import os, signal")).empty());
    auto const killed = attacker.execute("os.kill(os.getpid(), signal.SIGKILL)");
    REQUIRE_FALSE(killed);
    CHECK_FALSE(killed.error().status().exceeded);
}
