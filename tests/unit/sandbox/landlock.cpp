#include <ipybox/os/landlock.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/best_sandbox.hpp>
#include <ipybox/sandbox/landlock_grants.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/sandbox_report.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/eventually.hpp>
#include <support/landlock_abi.hpp>
#include <support/skip.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "run.hpp"

namespace landlock_test {
namespace {

using namespace ipybox;
using ipybox::detail::file_rules;
using ipybox::detail::landlock_grants_of;
using ipybox::test::contains;
using sandbox_test::scratch_dir;
namespace fs = std::filesystem;

launch_spec shell(std::string script, fs::path const& working_dir) {
    return {{"/bin/sh", "-c", std::move(script)}, {{"PATH", "/usr/bin:/bin"}}, working_dir};
}

/// Why there is no Landlock here, or nothing.
std::string missing() {
    scratch_dir const dir;
    auto const wrapped = landlock_sandbox().wrap(shell("", dir.path()));
    return wrapped ? std::string() : wrapped.error().text();
}

/// What a script says in the sandbox, or why it does not start.
std::string said(launch_spec spec, landlock_sandbox const& sandbox = landlock_sandbox()) {
    spec.argv.at(2) = "{ " + spec.argv.at(2) + "; } 2>&1";
    auto const wrapped = sandbox.wrap(std::move(spec));
    if (!wrapped) return wrapped.error().text();
    auto const output = os::program_output(*wrapped, std::chrono::seconds(30));
    return output ? *output : output.error().text();
}

std::string said(std::string script, fs::path const& working_dir) {
    return said(shell(std::move(script), working_dir));
}

void write(fs::path const& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "text\n";
}

/// The default with these rules for files.
sandbox_config files(std::string const& json) {
    auto config = sandbox_config::parse(R"({"filesystem": )" + json + "}");
    REQUIRE(config);
    return *std::move(config);
}

bool is_among(fs::path const& path, std::vector<fs::path> const& all) {
    return std::ranges::find(all, path) != all.end();
}

} // namespace

TEST_CASE("landlock: what the default configuration opens and closes") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const work;
    scratch_dir const other;
    write(other.path() / "secret");
    auto const secret = (other.path() / "secret").string();
    CHECK(said("echo a > new; mkdir d; mv new d; cat d/new", work.path()) == "a\n");
    CHECK(said("echo b > $TMPDIR/x; mv $TMPDIR/x .; cat x", work.path()) == "b\n");
    CHECK(contains(said("cat " + secret, work.path()), "Permission denied"));
    CHECK(contains(said("echo x >> " + secret, work.path()), "Permission denied"));
    CHECK(contains(said("ls ~root /tmp", work.path()), "Permission denied"));
    CHECK(contains(said("ls /dev/shm", work.path()), "Permission denied"));
    CHECK(contains(said("touch /etc/new", work.path()), "Permission denied"));
    CHECK(said("head -n 1 /etc/passwd | cut -d: -f1", work.path()) == "root\n");
    CHECK(said("echo lost > /dev/null; head -c 3 /dev/zero | wc -c", work.path()) == "3\n");
}

TEST_CASE("landlock: it holds ordinary users as it holds root") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    if (::geteuid() != 0) return; // the other tests have just run as one
    scratch_dir const work;
    scratch_dir const other;
    write(other.path() / "secret");
    for (auto const& path : {work.path(), other.path(), other.path() / "secret"})
        REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
    auto const seen = sandbox_test::in_child([&] {
        if (!sandbox_test::become_ordinary_user()) return 99;
        auto const script = "id -u; echo in > f; cat f; cat " + (other.path() / "secret").string() + "; kill -0 " +
                            std::to_string(::getpid());
        std::puts(said(script, work.path()).c_str());
        std::fflush(stdout);
        return 0;
    });
    INFO(seen.output);
    CHECK(contains(seen.output, "65534\nin\n"));
    CHECK(contains(seen.output, "secret: Permission denied"));
    CHECK(contains(seen.output, "not permitted"));
}

TEST_CASE("landlock: a closed part of an open directory is refused, with what to do") {
    scratch_dir const work;
    auto const dir = work.path();
    auto const refusal = [&](sandbox_config config, launch_spec spec) {
        auto const wrapped = landlock_sandbox(std::move(config)).wrap(std::move(spec));
        auto const text = wrapped ? "it starts" : wrapped.error().text();
        if (!wrapped) CHECK(wrapped.error() == errc::invalid_argument);
        return text;
    };
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    auto const in_work = " lies in " + dir.string() + ", which is ";
    auto const cure = "; move it elsewhere, choose another working directory, or choose bubblewrap";

    write(dir / "a/.env");
    auto text = refusal({}, shell("", dir));
    CHECK(text.starts_with((dir / "a/.env").string() + " must not be read, and" + in_work + "readable: Landlock"));
    CHECK(text.ends_with(cure));
    CHECK(refusal(files(R"({"denyRead": []})"), shell("", dir)) == "it starts");
    fs::remove(dir / "a/.env");

    CHECK(contains(refusal(files(R"({"denyRead": ["/etc/passwd"]})"), shell("", dir)),
                   "lies in /etc, which is readable"));
    for (auto const* denied : {"a", "missing"})
        CHECK(contains(refusal(files(R"({"denyWrite": [")" + std::string(denied) + "\"]}"), shell("", dir)),
                       (dir / denied).string() + " must not be changed, and" + in_work + "writable"));
    auto spec = shell("", dir);
    write(dir / "rules.json");
    spec.read_only = {dir / "rules.json"};
    CHECK(contains(refusal({}, spec), "rules.json must not be changed, and" + in_work + "writable"));
    CHECK(refusal(files(R"({"allowWrite": []})"), spec) == "it starts");
    spec = shell("", dir);
    spec.hidden = {dir / "rules.json"};
    CHECK(contains(refusal({}, spec), "rules.json must not be read, and" + in_work + "readable"));
    spec = shell("", dir);
    spec.readable = {dir / "a"};
    CHECK(contains(refusal({}, spec), "is needed to start and must not be changed, and" + in_work + "writable"));
}

TEST_CASE("landlock: what else cannot be had is refused by name") {
    scratch_dir const work;
    auto const refusal = [&](std::string const& json, launch_spec spec) {
        auto const config = sandbox_config::parse(json);
        REQUIRE(config);
        auto const wrapped = landlock_sandbox(*config).wrap(std::move(spec));
        REQUIRE_FALSE(wrapped);
        CHECK(wrapped.error() == errc::invalid_argument);
        return wrapped.error().text();
    };
    auto const plain = shell("", work.path());
    CHECK(contains(refusal(R"({"network": {"allowedDomains": ["example.org"]}})", plain),
                   "names hosts, which landlock_sandbox cannot open"));
    CHECK(contains(refusal(R"({"network": {"allowUnixSockets": ["/run/x"]}})", plain), "allowUnixSockets"));
    auto server = plain;
    server.ends_with_starter = true;
    CHECK(contains(refusal("{}", server), "server in bubblewrap"));
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    for (auto const* closed : {"/", "/tmp", "/proc"})
        CHECK(contains(refusal("{}", shell("", closed)), "would open what the sandbox closes"));
}

TEST_CASE("landlock: a directory that is closed around an open one, and /dev/shm by name") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const work;
    scratch_dir const other;
    write(other.path() / "in/file");
    write(other.path() / "file");
    auto const read = "cat " + (other.path() / "in/file").string() + "; cat " + (other.path() / "file").string();
    auto const config = files(R"({"denyRead": [")" + other.path().string() + R"("], "allowRead": [")" +
                              (other.path() / "in").string() + R"("], "allowWrite": [".", "/dev/shm"]})");
    auto const seen = said(shell(read, work.path()), landlock_sandbox(config));
    CHECK(seen.starts_with("text\ncat: "));
    CHECK(contains(seen, "Permission denied"));
    CHECK(said(shell("mktemp -p /dev/shm x.XXXXXX | cut -c 1-10; rm /dev/shm/x.*", work.path()),
               landlock_sandbox(config)) == "/dev/shm/x\n");
    // A directory of the system that is closed as a whole.
    CHECK(contains(said(shell("ls /opt", work.path()), landlock_sandbox(files(R"({"denyRead": ["/opt"]})"))),
                   "Permission denied"));
}

TEST_CASE("landlock: grants of a launch") {
    scratch_dir const work;
    file_rules rules;
    rules.writable = {work.path()};
    auto spec = shell("", work.path());
    spec.readable = {"/", "/usr/lib", "/missing"};
    auto const grants = landlock_grants_of(rules, spec, ipybox::os::host_environment::now().home());
    REQUIRE(grants);
    CHECK(grants->writable == std::vector<fs::path>{work.path()});
    CHECK(is_among("/usr/lib", grants->readable));
    CHECK(is_among(work.path(), grants->readable));
    CHECK_FALSE(is_among("/", grants->readable)); // of an interpreter in /bin
    if (auto const* home = std::getenv("HOME"); home && fs::exists(home) && *home != '\0' && fs::path(home) != "/") {
        spec.readable = {home};
        auto const refused = landlock_grants_of(rules, spec, ipybox::os::host_environment::now().home());
        REQUIRE_FALSE(refused);
        CHECK(contains(refused.error().text(), "holds the home directory"));
    }
}

TEST_CASE("landlock: what a configuration means is described") {
    scratch_dir const work;
    sandbox_config config;
    config.filesystem.deny_read.push_back({"secret"});
    auto const seen = landlock_sandbox(config).describe(work.path());
    REQUIRE(seen);
    CHECK(seen->writable == std::vector<fs::path>{work.path()});
    CHECK(is_among("/usr", seen->only_readable));
    CHECK(seen->read_only.empty());
    CHECK(contains(seen->text(), "readable, and nothing else: /usr"));
    CHECK(contains(seen->text(), "Landlock cannot close them"));
    CHECK(is_among(work.path() / "secret", seen->absent));
}

TEST_CASE("landlock: the private directory goes with the sandbox, and the next one removes what was left behind") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const work;
    auto wrapped = landlock_sandbox().wrap(shell("", work.path()));
    REQUIRE(wrapped);
    fs::path const ours = wrapped->env.at("TMPDIR");
    struct ::stat about{};
    REQUIRE(::stat(ours.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0700);
    CHECK(is_among("TMPDIR", {wrapped->sandbox_variables.begin(), wrapped->sandbox_variables.end()}));
    auto with_own = shell("", work.path());
    with_own.sandbox_variables = {"OWN"};
    auto const both = landlock_sandbox().wrap(with_own);
    REQUIRE(both);
    CHECK(is_among("OWN", {both->sandbox_variables.begin(), both->sandbox_variables.end()}));

    auto const left = fs::path("/tmp/ipybox-landlock-left" + std::to_string(::getpid()));
    write(left / "deep/file");
    auto const another = landlock_sandbox().wrap(shell("", work.path()));
    REQUIRE(another);
    CHECK(test::eventually([&] { return !fs::exists(left); })); // another process may be about to remove it
    CHECK(fs::exists(ours));                                    // it is in use
    wrapped = failure(errc::io_error, "");
    CHECK_FALSE(fs::exists(ours));
}

namespace {

/// What is said of a system whose Landlock is too old, or missing, in each place where it matters.
void check_refusals(int abi, std::string const& what_there_is) {
    scratch_dir const work;
    CHECK(os::landlock_abi() == abi);
    auto const wrapped = landlock_sandbox().wrap(shell("", work.path()));
    REQUIRE_FALSE(wrapped);
    CHECK(wrapped.error() == errc::sandbox_unavailable);
    CHECK(contains(wrapped.error().text(), "Landlock of ABI 6 is needed"));
    CHECK(contains(wrapped.error().text(), what_there_is));
    CHECK(contains(wrapped.error().text(), "run on Linux 6.12 or newer, or use bubblewrap_sandbox"));

    auto const no_bwrap = work.path() / "no-bwrap";
    best_sandbox const best(bubblewrap_sandbox({.program = no_bwrap}), landlock_sandbox());
    auto const none = best.wrap(shell("", work.path()));
    REQUIRE_FALSE(none);
    CHECK(none.error() == errc::sandbox_unavailable);
    CHECK(contains(none.error().text(), "no sandbox works here. bubblewrap: "));
    CHECK(contains(none.error().text(), no_bwrap.string()));
    CHECK(contains(none.error().text(), "Landlock: " + wrapped.error().text()));

    if (ipybox::detail::why_no_bubblewrap({}, ipybox::os::host_programs::now()).empty()) { // which needs no Landlock
        auto const boxed = best_sandbox().wrap(shell("", work.path()));
        REQUIRE(boxed);
        CHECK(boxed->first_in_namespace);
    }

    auto const report = ipybox::sandbox_report::make(ipybox::bubblewrap_sandbox({.program = no_bwrap}));
    CHECK(report.machine.landlock == abi);
    auto const& policy = report.policies.at(2);
    CHECK(policy.policy == "landlock");
    CHECK(policy.gap == "needs Linux 6.12 or newer (Landlock ABI 6)");
    CHECK(policy.protections.empty());
    CHECK(contains(report.text(), "  Landlock    " + (abi == 0 ? "none" : "ABI " + std::to_string(abi)) + "\n"));
    CHECK(contains(report.text(), "\nlandlock: does not work here: " + policy.gap + "\n"));
}

} // namespace

TEST_CASE("landlock: on a system with ABI 1 to 5 nothing starts, and texts and report say which one there is") {
    for (int abi = 1; abi < os::landlock_abi_with_scopes; ++abi) {
        INFO("ABI " << abi);
        test::with_landlock_abi(abi, [&] { check_refusals(abi, "this system has ABI " + std::to_string(abi) + ";"); });
    }
}

TEST_CASE("landlock: on a system without it nothing starts, and texts and report say so") {
    for (int const why : {ENOSYS, EOPNOTSUPP, EPERM})
        test::without_landlock(why, [] { check_refusals(0, "this system has none (it came with Linux 5.13"); });
}

TEST_CASE("landlock: ABI 6 is enough, and so is a later one") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    for (int const abi : {6, 7, 100})
        test::with_landlock_abi(abi, [&] {
            scratch_dir const work;
            CHECK(os::landlock_abi() == abi);
            CHECK(landlock_sandbox().wrap(shell("", work.path())));
            best_sandbox const best(bubblewrap_sandbox({.program = work.path() / "no-bwrap"}), landlock_sandbox());
            CHECK(best.wrap(shell("", work.path())));
        });
}

TEST_CASE("best_sandbox: bubblewrap where it works, else Landlock") {
    scratch_dir const work;
    if (auto const gap = ipybox::detail::why_no_bubblewrap({}, ipybox::os::host_programs::now()); gap.empty()) {
        auto const boxed = any_sandbox(best_sandbox()).wrap(shell("", work.path()));
        REQUIRE(boxed);
        CHECK(boxed->first_in_namespace);
        CHECK_FALSE(boxed->confinement);
        auto const seen = best_sandbox().describe(work.path());
        REQUIRE(seen);
        CHECK(seen->notices.front() == "the sandbox is bubblewrap");
    }
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    best_sandbox const without(bubblewrap_sandbox({.program = work.path() / "no-bwrap"}), landlock_sandbox());
    auto const confined = without.wrap(shell("", work.path()));
    REQUIRE(confined);
    CHECK(confined->confinement);
    auto const seen = without.describe(work.path());
    REQUIRE(seen);
    CHECK(seen->notices.front().starts_with("the sandbox is landlock: "));
    sandbox_config configured;
    configured.bwrap = work.path() / "no-bwrap";
    auto const told = best_sandbox(configured).describe(work.path());
    REQUIRE(told);
    CHECK(told->notices.front().starts_with("the sandbox is landlock: "));
    write(work.path() / ".env");
    auto const refused = without.wrap(shell("", work.path()));
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(contains(refused.error().text(), "which does not work here: "));
}

} // namespace landlock_test
