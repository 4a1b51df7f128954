#include <ipybox/sandbox/bubblewrap_sandbox.hpp>

#include <support/catch.hpp>
#include <support/skip.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>

#include "run.hpp"

namespace {

using ipybox::bubblewrap_sandbox;
using ipybox::errc;
using ipybox::launch_spec;
using sandbox_test::outcome;
using sandbox_test::scratch_dir;
namespace fs = std::filesystem;

launch_spec shell(std::string command, fs::path const& working_dir) {
    return {.argv = {"/bin/sh", "-c", std::move(command)},
            .env = {{"PATH", "/usr/bin:/bin"}, {"MARK", "42"}},
            .working_dir = working_dir};
}

/// Why there can be no real sandbox here; tests are then skipped.
std::optional<std::string> missing() {
    scratch_dir const work;
    auto const wrapped = bubblewrap_sandbox{}.wrap(shell("true", work.path()));
    if (wrapped) return std::nullopt;
    return wrapped.error().text();
}

#define NEEDS_BUBBLEWRAP()                                                                                             \
    if (auto const why = missing()) {                                                                                  \
        ipybox::test::skip(*why);                                                                                      \
        return;                                                                                                        \
    }

/// A directory that is not hidden inside and can be written to; empty where there is none.
fs::path open_directory() {
    auto const* home = std::getenv("HOME");
    for (auto const& path : {fs::current_path(), fs::path(home ? home : "/"), fs::path("/var")}) {
        auto const text = path.string() + '/';
        auto const hidden = [&text](auto const* folder) { return text.starts_with(folder); };
        if (::access(path.c_str(), W_OK) == 0 && !hidden("/tmp/") && !hidden("/run/") && !hidden("/var/tmp/"))
            return path;
    }
    return {};
}

#define NEEDS_OPEN_DIRECTORY()                                                                                         \
    if (open_directory().empty()) {                                                                                    \
        ipybox::test::skip("no writable directory outside of /tmp; run it in one");                                    \
        return;                                                                                                        \
    }

outcome run_wrapped(launch_spec spec, bubblewrap_sandbox const& sandbox = bubblewrap_sandbox{}) {
    auto const wrapped = sandbox.wrap(std::move(spec));
    if (!wrapped) return {-1, wrapped.error().text()};
    return sandbox_test::run(*wrapped);
}

outcome run_in(fs::path const& working_dir, std::string command) {
    return run_wrapped(shell(std::move(command), working_dir));
}

bool has(std::vector<std::string> const& argv, std::vector<std::string> const& words) {
    return std::search(argv.begin(), argv.end(), words.begin(), words.end()) != argv.end();
}

void touch(fs::path const& path, std::string_view text = "") { std::ofstream(path) << text; }

} // namespace

TEST_CASE("bubblewrap: the program keeps its arguments, environment and control descriptor") {
    NEEDS_BUBBLEWRAP();
    scratch_dir const work;
    auto spec = shell("true", work.path());
    spec.control_fd = 9;
    spec.sandbox_variables = {"OWN"};
    auto const wrapped = bubblewrap_sandbox{}.wrap(spec);
    REQUIRE(wrapped);
    CHECK(wrapped->sandbox_variables == spec.sandbox_variables);
    CHECK(fs::path(wrapped->argv.front()).filename() == "bwrap");
    CHECK(fs::path(wrapped->argv.front()).is_absolute());
    CHECK(has(wrapped->argv, {"--chdir", work.path().string(), "--", "/bin/sh", "-c", "true"}));
    CHECK(has(wrapped->argv, {"--cap-drop", "ALL"}));
    CHECK(has(wrapped->argv, {"--size", "268435456", "--tmpfs", "/tmp"}));
    CHECK_FALSE(has(wrapped->argv, {"--die-with-parent"}));
    CHECK(wrapped->env == spec.env);
    CHECK(wrapped->control_fd == 9);
    CHECK_FALSE(spec.first_in_namespace);
    CHECK(wrapped->first_in_namespace);
    CHECK(run_in(work.path(), "echo $$").output == "1\n");

    auto const seen = run_in(work.path(), "pwd; echo $MARK; env | grep -c .");
    CHECK(seen.output == work.path().string() + "\n42\n3\n"); // bwrap itself sets PWD
}

TEST_CASE("bubblewrap: only the working directory and the writable paths can be written to") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const work(open_directory());
    scratch_dir const more(open_directory());
    scratch_dir const other(open_directory());
    auto spec =
        shell("touch in && touch " + (more.path() / "more").string() + " && echo inside; touch " +
                  (other.path() / "out").string() + " || echo refused; touch /etc/out /usr/out /out || echo refused",
              work.path());
    spec.writable = {more.path()};
    auto const seen = run_wrapped(spec);
    INFO(seen.output);
    CHECK(seen.output.starts_with("inside\n"));
    CHECK(seen.output.find("refused") != seen.output.rfind("refused"));
    CHECK(fs::exists(work.path() / "in"));
    CHECK(fs::exists(more.path() / "more"));
    CHECK_FALSE(fs::exists(other.path() / "out"));
    CHECK_FALSE(fs::exists("/etc/out"));
}

TEST_CASE("bubblewrap: temporary directories are private, writable and bounded") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const work(open_directory());
    scratch_dir const secret("/tmp");
    auto const name = secret.path().filename().string() + "-made";
    auto const seen =
        run_wrapped(shell("ls -A /tmp /run /var/tmp /dev/shm /sys; for d in /tmp /run /var/tmp /dev/shm; "
                          "do touch $d/" +
                              name +
                              " && echo ok; done; "
                              "head -c 2000000 /dev/zero > /tmp/big 2>/dev/null || echo full; touch /dev/x "
                              "/sys/x 2>/dev/null || echo closed",
                          work.path()),
                    bubblewrap_sandbox{{.tmpfs_size = 1'000'000}});
    CHECK(seen.output == "/dev/shm:\n\n/run:\n\n/sys:\n\n/tmp:\n\n/var/tmp:\nok\nok\nok\nok\nfull\nclosed\n");
    CHECK_FALSE(fs::exists("/tmp/" + name));
}

TEST_CASE("bubblewrap: no network, own processes, no capabilities") {
    NEEDS_BUBBLEWRAP();
    scratch_dir const work;
    CHECK(run_in(work.path(), "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").output == "lo\n");
    CHECK(run_in(work.path(), "ls /proc | grep -c '^[0-9]'").code == 0);
    CHECK(run_in(work.path(),
                 "[ ! -e /proc/" + std::to_string(::getpid()) + "/root ] && echo hidden; [ $$ -lt 10 ] && echo own")
              .output == "hidden\nown\n");
    CHECK(run_in(work.path(), "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u").output ==
          "0000000000000000\n");
    for (auto const* name : {"user", "pid", "ipc", "uts", "net", "cgroup", "mnt"}) {
        INFO(name);
        auto const link = std::string("/proc/self/ns/") + name;
        auto const seen = run_in(work.path(), "readlink " + link);
        CHECK(seen.code == 0);
        CHECK(seen.output != fs::read_symlink(link).string() + "\n");
    }
}

TEST_CASE("bubblewrap: root inside cannot reach the kernel's settings nor nest") {
    NEEDS_BUBBLEWRAP();
    scratch_dir const work;
    CHECK(run_in(work.path(), ": >> /proc/sys/kernel/core_pattern").code != 0);
    CHECK(run_in(work.path(), "mount -o remount,rw / || umount /tmp").code != 0);
    auto const wrapped = bubblewrap_sandbox{}.wrap(shell("true", work.path()));
    if (has(wrapped->argv, {"--disable-userns"})) CHECK(run_in(work.path(), "unshare --user true").code != 0);
}

TEST_CASE("bubblewrap: a working directory in a private directory is bound back") {
    NEEDS_BUBBLEWRAP();
    for (auto const* parent : {"/tmp", "/var/tmp", "/dev/shm", "/run"}) {
        if (::access(parent, W_OK) != 0) continue;
        INFO(parent);
        scratch_dir const work(parent);
        CHECK(run_in(work.path(), "touch made && pwd").output == work.path().string() + "\n");
        CHECK(fs::exists(work.path() / "made"));
        CHECK(run_in(work.path(), std::string("ls -A ") + parent).output == work.path().filename().string() + "\n");
    }
}

TEST_CASE("bubblewrap: readable paths are seen in private directories, read-only") {
    NEEDS_BUBBLEWRAP();
    scratch_dir const venv;
    fs::create_directories(venv.path() / "work/lib");
    touch(venv.path() / "python", "text");
    auto spec = shell("cat ../python; touch ../x || echo refused; touch lib/x || echo refused", venv.path() / "work");
    spec.readable = {venv.path() / "work/lib", venv.path(), "/usr", "/tmp/not-there"};
    auto const seen = run_wrapped(spec);
    INFO(seen.output);
    CHECK(seen.output.starts_with("text"));
    CHECK(seen.output.find("refused") != seen.output.rfind("refused"));
    CHECK_FALSE(fs::exists(venv.path() / "x"));
}

TEST_CASE("bubblewrap: readable paths in the working directory are read-only, and stay where they are") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const open(open_directory());
    scratch_dir const hidden;
    for (auto const* work : {&open, &hidden}) {
        fs::create_directories(work->path() / "a/b/venv/lib");
        auto spec = shell("touch x a/x a/b/x && echo written; touch a/b/venv/x a/b/venv/lib/x || echo refused; "
                          "mv a/b/venv v || mv a/b b || mv a c || echo refused; touch x",
                          work->path());
        spec.readable = {work->path() / "a/b/venv", work->path()};
        auto const seen = run_wrapped(spec);
        INFO(seen.output);
        CHECK(seen.output.starts_with("written\n"));
        CHECK(seen.output.find("refused") != seen.output.rfind("refused"));
        CHECK(fs::is_empty(work->path() / "a/b/venv/lib"));
    }
}

TEST_CASE("bubblewrap: paths may go through links, hidden ones too") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const real(open_directory());
    scratch_dir const links("/tmp");
    fs::create_directory(real.path() / "work");
    fs::create_directory_symlink(real.path(), links.path() / "link");
    auto const given = links.path() / "link/work";
    auto const wrapped = bubblewrap_sandbox{}.wrap(shell("pwd; touch " + (given / "made").string(), given));
    REQUIRE(wrapped);
    CHECK(wrapped->working_dir == real.path() / "work");
    CHECK(sandbox_test::run(*wrapped).output == (real.path() / "work").string() + "\n");
    CHECK(fs::exists(real.path() / "work/made"));

    scratch_dir const hidden("/tmp");
    fs::create_directory_symlink(hidden.path(), real.path() / "to-hidden");
    CHECK(run_in(real.path() / "to-hidden", "touch made; pwd").output == hidden.path().string() + "\n");
    CHECK(fs::exists(hidden.path() / "made"));
}

TEST_CASE("bubblewrap: the control descriptor stays open") {
    NEEDS_BUBBLEWRAP();
    scratch_dir const work;
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    ipybox::os::unique_fd const host(ends[0]);
    ipybox::os::unique_fd inside(ends[1]);
    auto const wrapped = bubblewrap_sandbox{}.wrap(shell("printf hello >&7", work.path()));
    REQUIRE(wrapped);
    auto const seen = sandbox_test::in_child([&] {
        ::dup2(inside.get(), 7);
        return sandbox_test::execute(*wrapped);
    });
    CHECK(seen.code == 0);
    inside.reset();
    char text[8] = {};
    CHECK(::recv(host.get(), text, sizeof text, MSG_DONTWAIT) == 5);
    CHECK(std::string(text) == "hello");
    CHECK(::recv(host.get(), text, sizeof text, MSG_DONTWAIT) == 0); // all of the sandbox has let go of it
}

TEST_CASE("bubblewrap: works for an ordinary user") {
    NEEDS_BUBBLEWRAP();
    if (::geteuid() != 0) {
        WARN("only root can become an ordinary user; the other tests have just run as one");
        return;
    }
    scratch_dir const work;
    REQUIRE(::chown(work.path().c_str(), 65534, 65534) == 0);
    auto const seen = sandbox_test::in_child([&] {
        if (!sandbox_test::become_ordinary_user()) return 99;
        auto const wrapped = bubblewrap_sandbox{}.wrap(
            shell("touch made && id -u; grep CapBnd /proc/self/status | cut -f2; touch /etc/out || echo refused",
                  work.path()));
        if (!wrapped) {
            std::cerr << wrapped.error().text() << std::flush;
            return 98;
        }
        if (has(wrapped->argv, {"/proc/sys"})) return 97;
        return sandbox_test::execute(*wrapped);
    });
    if (seen.code == 98) {
        ipybox::test::skip(seen.output);
        return;
    }
    CHECK(seen.code == 0);
    CHECK(seen.output.starts_with("65534\n0000000000000000\n"));
    CHECK(seen.output.ends_with("refused\n"));
    CHECK(fs::exists(work.path() / "made"));
}

TEST_CASE("bubblewrap: paths that cannot be used are told before anything is started") {
    auto const refused = [](launch_spec spec, std::string_view part) {
        auto const wrapped = bubblewrap_sandbox{}.wrap(std::move(spec));
        REQUIRE_FALSE(wrapped);
        INFO(wrapped.error().text());
        CHECK(wrapped.error() == errc::invalid_argument);
        CHECK(wrapped.error().text().find(part) != std::string::npos);
    };
    refused({.argv = {}, .env = {}, .working_dir = "/usr"}, "no program");
    refused(shell("true", "relative"), "working directory relative is not an absolute path");
    refused(shell("true", ""), "not an absolute path");
    refused(shell("true", "/usr/not-there"), "No such file");
    refused(shell("true", "/usr/bin/env"), "is not a directory");
    for (auto const* closed : {"/", "/tmp", "/tmp/", "/var", "/run", "/dev", "/dev/shm", "/proc", "/sys"}) {
        INFO(closed);
        refused(shell("true", closed), "would open what the sandbox closes");
    }
    scratch_dir const work;
    auto spec = shell("true", work.path());
    spec.writable = {"/usr/lib", "/usr/not-there"};
    refused(spec, "writable path /usr/not-there");
    spec.writable = {};
    spec.readable = {"/tmp"};
    refused(spec, "readable path /tmp would open");
    spec.readable = {"lib"};
    refused(spec, "readable path lib is not");
}

TEST_CASE("bubblewrap: what is read-only stays as it is, also where its directory is writable") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const open(open_directory());
    scratch_dir const hidden;
    for (auto const* work : {&open, &hidden}) {
        fs::create_directories(work->path() / "a/servers");
        touch(work->path() / "a/servers/pay.py", "pay");
        touch(work->path() / "rules.json", "{}");
        auto spec =
            shell("touch x a/x && echo written; for f in rules.json a/servers/pay.py; do echo evil > $f || rm -f $f || "
                  "mv $f y || cp x $f || mv x $f || ln -f x $f || chmod 777 $f || echo refused; done; "
                  "mv a/servers s || mv a b || touch a/servers/x || rm -rf a || echo refused",
                  work->path());
        spec.read_only = {work->path() / "rules.json",
                          work->path() / "a/servers/pay.py",
                          work->path() / "a/servers",
                          work->path() / "not-there",
                          work->path(),
                          "/etc/passwd",
                          "/"};
        auto const seen = run_wrapped(spec);
        INFO(seen.output);
        CHECK(seen.output.starts_with("written\n"));
        CHECK(seen.output.ends_with("refused\n"));
        std::ifstream in(work->path() / "a/servers/pay.py");
        std::string text;
        CHECK((in >> text && text == "pay"));
        CHECK(fs::file_size(work->path() / "rules.json") == 2);
    }
}

TEST_CASE("bubblewrap: what cannot be made read-only is told") {
    scratch_dir const dir;
    auto const work = dir.path() / "work";
    fs::create_directories(work / "venv/bin");
    fs::create_directories(dir.path() / "elsewhere");
    touch(work / "server.py");
    touch(dir.path() / "elsewhere/server.py");
    fs::create_symlink("../elsewhere", work / "link");
    fs::create_symlink("/bin/sh", work / "venv/bin/python");
    launch_spec spec = shell("true", work);
    spec.read_only = {work / "server.py", dir.path() / "elsewhere/server.py", work / "venv", work / "venv/bin/python",
                      "/usr"};
    CHECK(bubblewrap_sandbox::unprotected(spec).empty());
    spec.read_only = {work, dir.path(), work / "link/server.py", work / "venv/bin/python", work / "not-there"};
    CHECK(bubblewrap_sandbox::unprotected(spec) ==
          std::vector<fs::path>{work, work / "link/server.py", work / "venv/bin/python"});
}

TEST_CASE("bubblewrap: hidden files cannot be read, wherever they lie") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const work(open_directory());
    scratch_dir const outside(open_directory());
    touch(work.path() / "mcp.json", "secret");
    touch(outside.path() / "mcp.json", "secret");
    auto spec = shell("cat mcp.json || mv mcp.json x || rm -f mcp.json || ln mcp.json y || echo refused; cat " +
                          (outside.path() / "mcp.json").string() + " || echo refused",
                      work.path());
    spec.hidden = {work.path() / "mcp.json", outside.path() / "mcp.json", "/tmp/not-there", work.path()};
    auto const seen = run_wrapped(spec);
    INFO(seen.output);
    CHECK(seen.output.find("secret") == std::string::npos);
    CHECK(seen.output.find("refused") != seen.output.rfind("refused"));
    CHECK(fs::file_size(work.path() / "mcp.json") == 6);
}

TEST_CASE("bubblewrap: hidden directories are empty, but for the working directory in one") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const home(open_directory());
    auto const keys = home.path() / "keys";
    auto const work = home.path() / "work";
    for (auto const& dir : {keys, work, work / "secrets"}) fs::create_directories(dir);
    touch(keys / "key", "secret");
    touch(work / "secrets/key", "secret");
    touch(home.path() / "notes", "secret");
    touch(work / "file", "open");
    auto spec = shell("cat " + (keys / "key").string() + " ../notes secrets/key; echo x > secrets/new; cat file", work);
    for (auto const& hidden : std::vector<std::vector<fs::path>>{{keys, home.path() / "notes/", work / "secrets/"},
                                                                 {home.path(), work / "missing/../secrets"}}) {
        spec.hidden = hidden;
        auto const seen = run_wrapped(spec);
        INFO(seen.output);
        CHECK(seen.output.find("secret\n") == std::string::npos);
        CHECK(seen.output.find("secretsecret") == std::string::npos);
        CHECK(seen.output.ends_with("open"));
        CHECK_FALSE(fs::exists(work / "secrets/new"));
    }
}

namespace {

/// Shows a directory under a second name, to this process and its children alone.
bool mount_again(fs::path const& directory, fs::path const& again) {
    if (::geteuid() != 0) {
        auto const ids = "0 " + std::to_string(::geteuid()) + " 1";
        if (::unshare(CLONE_NEWUSER) != 0) return false;
        touch("/proc/self/uid_map", ids);
    }
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount(directory.c_str(), again.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

} // namespace

TEST_CASE("bubblewrap: what is closed is closed where another mount shows it, too") {
    NEEDS_BUBBLEWRAP();
    NEEDS_OPEN_DIRECTORY();
    scratch_dir const home(open_directory());
    auto const work = home.path() / "work";
    auto const also = home.path() / "also";
    for (auto const& dir : {work, also}) fs::create_directories(dir);
    for (auto const* secret : {".env", "mcp.json"}) touch(work / secret, "secret");
    for (auto const* deciding : {".npmrc", "rules.json"}) touch(work / deciding, "old");
    auto const seen_in = [&](launch_spec spec) {
        return sandbox_test::in_child([&] {
            if (!mount_again(work, also)) return 97;
            spec.hidden = {work / "mcp.json"};
            spec.read_only = {work / "rules.json"};
            auto const wrapped = bubblewrap_sandbox{}.wrap(std::move(spec));
            if (wrapped) return sandbox_test::execute(*wrapped);
            std::cerr << wrapped.error().text() << std::flush;
            return 98;
        });
    };
    auto const seen = seen_in(shell("for f in .env mcp.json; do cat $f ../also/$f; done; for f in .npmrc rules.json; "
                                    "do echo new > $f; echo new > ../also/$f; done; echo new > own && cat ../also/own",
                                    work));
    if (seen.code == 97) return ipybox::test::skip("directories cannot be mounted here");
    INFO(seen.output);
    CHECK(seen.output.find("secret") == std::string::npos);
    CHECK(seen.output.ends_with("new\n"));
    for (auto const* deciding : {".npmrc", "rules.json"}) CHECK(fs::file_size(work / deciding) == 3);

    auto apart = shell("ls -A ../also", work);
    apart.keeps_kernels_apart = true; // each sees a part of the working directory
    auto const nothing = seen_in(apart);
    CHECK(nothing.code == 0);
    CHECK(nothing.output.empty());
}
