#include <ipybox/sandbox/bubblewrap_preflight.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "run.hpp"

namespace {

using namespace std::chrono_literals;
using ipybox::bubblewrap_sandbox;
using ipybox::errc;
using ipybox::detail::bubblewrap_preflight;
using ipybox::detail::bubblewrap_unavailable;
using ipybox::detail::sandbox_host;
using ipybox::test::contains;
using sandbox_test::scratch_dir;

/// A stand-in for bwrap: a shell script.
std::filesystem::path script(scratch_dir const& dir, std::string const& body) {
    auto const path = dir.path() / "bwrap";
    std::ofstream(path) << "#!/bin/sh\n" << body << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
}

class with_path {
  public:
    explicit with_path(std::string const& value) : before_(std::getenv("PATH")) { ::setenv("PATH", value.c_str(), 1); }
    with_path(with_path const&) = delete;
    with_path& operator=(with_path const&) = delete;
    ~with_path() { ::setenv("PATH", before_.c_str(), 1); }

  private:
    std::string before_;
};

std::string const no_filter;

ipybox::launch_spec nothing_to_do() {
    static sandbox_test::scratch_dir const work;
    return {.argv = {"/bin/true"}, .env = {}, .working_dir = work.path()};
}

} // namespace

TEST_CASE("preflight: a missing bwrap is told with the command that installs it") {
    with_path const path("relative::/not-there");
    auto const wrapped = bubblewrap_sandbox{}.wrap(nothing_to_do());
    REQUIRE_FALSE(wrapped);
    CHECK(wrapped.error() == errc::sandbox_unavailable);
    CHECK(wrapped.error() == ipybox::condition::cannot_start);
    CHECK(wrapped.error().text() ==
          "bubblewrap is not installed: there is no bwrap on PATH. Install it: apt-get install bubblewrap (Fedora: dnf "
          "install bubblewrap; Arch: pacman -S "
          "bubblewrap). To go without a sandbox, choose none by name (--sandbox none, or no_sandbox in a program).");
}

TEST_CASE("preflight: the program can be chosen") {
    auto const missing = bubblewrap_sandbox{{.program = "/not-there/bwrap"}}.wrap(nothing_to_do());
    REQUIRE_FALSE(missing);
    CHECK(missing.error() == errc::sandbox_unavailable);
    CHECK(missing.error().text().find("/not-there/bwrap is not there") != std::string::npos);
    CHECK(bubblewrap_sandbox{{.program = "bwrap"}}.wrap(nothing_to_do()).error() == errc::invalid_argument);

    scratch_dir const dir;
    auto const own = script(dir, "echo 'ipybox: the sandbox works'");
    auto const wrapped = bubblewrap_sandbox{{.program = own}}.wrap(nothing_to_do());
    REQUIRE(wrapped);
    CHECK(wrapped->argv.front() == own.string());
    with_path const path("/not-there:" + dir.path().string());
    CHECK(ipybox::detail::find_bubblewrap({}).value() == own);
}

TEST_CASE("preflight: each failure names its remedy") {
    auto const advice = [](std::string_view said, sandbox_host host = {}) {
        auto const error = bubblewrap_unavailable(said, host);
        CHECK(error == errc::sandbox_unavailable);
        CHECK(error.text().find("--sandbox none") != std::string::npos);
        return error.text();
    };
    constexpr auto uid_map = "bwrap: setting up uid map: Permission denied\n";
    constexpr auto forbidden = "bwrap: No permissions to create new namespace, likely because the kernel does not "
                               "allow non-privileged user namespaces.";
    constexpr auto nested =
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)";

    CHECK(contains(advice(uid_map, {.apparmor_restricts = true}), "kernel.apparmor_restrict_unprivileged_userns=0"));
    CHECK(contains(advice(uid_map, {.apparmor_restricts = true}), "(bwrap: setting up uid map: Permission denied)"));
    CHECK(contains(advice(forbidden, {.clone_disabled = true}), "sysctl -w kernel.unprivileged_userns_clone=1"));
    CHECK(contains(advice(nested, {.limit_zero = true}), "sysctl -w user.max_user_namespaces"));
    CHECK(contains(advice(nested), "forbids nesting"));
    CHECK(contains(advice(forbidden, {.container = true}), "--security-opt seccomp=unconfined"));
    CHECK(contains(advice("bwrap: Failed to make / slave: Operation not permitted", {.container = true, .root = true}),
                   "seccomp=unconfined"));
    CHECK(contains(advice(forbidden), "sysctl -w user.max_user_namespaces"));
    CHECK(contains(advice("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", {.container = true}),
                   "systempaths=unconfined"));
    CHECK(contains(advice("bwrap: setting up uid map: Operation not permitted", {.root = true}), "CAP_SETFCAP"));
    CHECK(contains(advice("bwrap: Unknown option --size"), "0.8 or newer"));
    CHECK(contains(advice("bwrap: The --size option is not permitted in setuid mode"), "chmod u-s"));
    CHECK(contains(advice("bwrap: Can't find source path /x"), "(bwrap: Can't find source path /x)"));
    CHECK(contains(advice(""), "(it said nothing)"));
}

TEST_CASE("preflight: what a bwrap says reaches the error, and success is remembered") {
    scratch_dir const dir;
    auto const own = script(dir, "echo 'bwrap: strange' >&2; exit 1");
    auto const failed = bubblewrap_preflight(own, {"--x"}, no_filter, 5s);
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == errc::sandbox_unavailable);
    CHECK(contains(failed.error().text(), "(bwrap: strange)"));

    script(dir, "echo x >> " + (dir.path() / "runs").string() + "; echo 'ipybox: the sandbox works'");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { (void)bubblewrap_preflight(own, {"--x"}, no_filter, 5s); });
    for (auto& thread : threads) thread.join();
    CHECK(bubblewrap_preflight(own, {"--x"}, no_filter, 5s).value() == std::vector<std::string>{"--x"});
    auto const runs = std::filesystem::file_size(dir.path() / "runs");
    CHECK(bubblewrap_preflight(own, {"--x"}, no_filter, 5s));
    CHECK(std::filesystem::file_size(dir.path() / "runs") == runs);
}

TEST_CASE("preflight: a fork that comes meanwhile can make its own") {
    scratch_dir const dir;
    auto const begun = dir.path() / "begun";
    auto const go_on = dir.path() / "go_on";
    auto const own = script(dir, "[ \"$1\" = --slow ] && { touch " + begun.string() + "; while ! [ -e " +
                                     go_on.string() + " ]; do sleep 0.01; done; }\necho 'ipybox: the sandbox works'");
    std::thread slow([&own] { (void)bubblewrap_preflight(own, {"--slow"}, no_filter, 60s); });
    while (!std::filesystem::exists(begun)) std::this_thread::sleep_for(1ms);
    auto const child = ::fork();
    if (child == 0) {
        ::alarm(30);
        ::_exit(bubblewrap_preflight(own, {"--quick"}, no_filter, 20s) ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    std::ofstream{go_on};
    slow.join();
}

TEST_CASE("preflight: a bwrap that does not know --disable-userns is used without") {
    scratch_dir const dir;
    auto const own = script(dir, "for a in \"$@\"; do [ \"$a\" = --disable-userns ] && { echo 'bwrap: Unknown option "
                                 "--disable-userns'; exit 1; }; done\n"
                                 "echo 'ipybox: the sandbox works'");
    CHECK(bubblewrap_preflight(own, {"--a", "--disable-userns", "--b"}, no_filter, 5s).value() ==
          std::vector<std::string>{"--a", "--b"});
}

TEST_CASE("preflight: is bounded in time and in output") {
    scratch_dir const dir;
    auto const started = std::chrono::steady_clock::now();
    auto const hung = bubblewrap_preflight(script(dir, "exec sleep 60"), {"--hang"}, no_filter, 100ms);
    REQUIRE_FALSE(hung);
    CHECK(hung.error() == errc::sandbox_unavailable);
    CHECK(contains(hung.error().text(), "did not end within 100 ms"));
    auto const silent = bubblewrap_preflight(script(dir, "exec sleep 60 >/dev/null 2>&1"), {"--silent"}, no_filter, 5s);
    CHECK_FALSE(silent);
    auto const flood =
        bubblewrap_preflight(script(dir, "head -c 3000000 /dev/zero | tr '\\0' x"), {"--flood"}, no_filter, 5s);
    REQUIRE_FALSE(flood);
    CHECK(flood.error().text().size() < 100'000);
    CHECK(std::chrono::steady_clock::now() - started < 20s);
}

TEST_CASE("preflight: a shortage of the process is told as that, and no missing sandbox") {
    scratch_dir const dir;
    auto const own = script(dir, "echo 'ipybox: the sandbox works'");
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit const few{3, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    auto const checked = bubblewrap_preflight(own, {"--shortage"}, no_filter, 5s);
    ::setrlimit(RLIMIT_NOFILE, &before);
    REQUIRE_FALSE(checked);
    CHECK(checked.error() == errc::io_error);
    CHECK(checked.error().cause() == std::errc::too_many_files_open);
    CHECK_FALSE(contains(checked.error().text(), "no_sandbox"));
    CHECK(bubblewrap_preflight(own, {"--shortage"}, no_filter, 5s));
}

TEST_CASE("preflight: works in a program that ignores SIGCHLD") {
    scratch_dir const dir;
    auto const own = script(dir, "echo 'ipybox: the sandbox works'");
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    auto const checked = bubblewrap_preflight(own, {"--sigchld"}, no_filter, 5s);
    std::signal(SIGCHLD, before);
    CHECK(checked);
}
