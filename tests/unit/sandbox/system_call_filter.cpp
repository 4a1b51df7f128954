#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <support/catch.hpp>
#include <support/python.hpp>
#include <support/skip.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include "run.hpp"

namespace {

using ipybox::bubblewrap_sandbox;
using ipybox::launch_spec;
using ipybox::system_access;
using ipybox::detail::system_call_filter;
using sandbox_test::scratch_dir;

launch_spec python(std::vector<std::string> arguments, std::filesystem::path const& working_dir) {
    launch_spec spec{
        .argv = {"/usr/bin/python3", "-I"}, .env = {{"PATH", "/usr/bin:/bin"}}, .working_dir = working_dir};
    for (auto& argument : arguments) spec.argv.push_back(std::move(argument));
    return spec;
}

/// The program of a test's directory that tries what should be closed, with what is allowed.
launch_spec tries(std::vector<std::string> allowed, std::filesystem::path const& working_dir) {
    std::vector<std::string> arguments{(ipybox::test::source_dir() / "tests/support/closed_system.py").string()};
    auto spec = python({}, working_dir);
    for (auto const& name : allowed) {
        arguments.push_back(name);
        spec.allow.push_back(*system_access::named(name));
    }
    spec.readable = {ipybox::test::source_dir() / "tests/support"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    return spec;
}

std::string hexadecimal(std::string const& bytes) {
    std::string text;
    for (auto const byte : bytes)
        for (auto const digit : {static_cast<unsigned char>(byte) >> 4, byte & 15}) text += "0123456789abcdef"[digit];
    return text;
}

} // namespace

TEST_CASE("system calls: the names of what can be left open lead there and back") {
    for (auto const access : system_access::all()) CHECK(system_access::named(access.name()) == access);
    CHECK(system_access::named("io-uring") == system_access::io_uring);
    CHECK_FALSE(system_access::named("sockets"));
}

TEST_CASE("system calls: the host's filter is the kernel's, byte for byte, whatever is allowed") {
    std::vector<std::vector<system_access>> choices{{}};
    for (auto const access : system_access::all()) {
        choices.push_back({access});
        choices.front().push_back(access);
    }
    choices.push_back({});
    for (auto const* machine : {"x86_64", "aarch64"}) {
        for (auto const& allow : choices) {
            std::string names;
            for (auto const access : allow) names.append("'").append(access.name()).append("',");
            auto const code = "import sys; sys.path.insert(0, '" + (ipybox::test::source_dir() / "python").string() +
                              "')\nfrom ipybox_kernel import filters as f\nprint(f.base(f.MACHINES['" + machine +
                              "'], [" + names + "]).hex(), end='')";
            auto const theirs = sandbox_test::run(python({"-c", code}, "/"));
            auto const ours = system_call_filter(machine, allow);
            REQUIRE(ours);
            INFO(names);
            CHECK(hexadecimal(*ours) == theirs.output);
        }
    }
    auto const none = system_call_filter("riscv64", {});
    REQUIRE_FALSE(none);
    CHECK(none.error() == ipybox::errc::sandbox_unavailable);
    CHECK(none.error().text().find("riscv64") != std::string::npos);
}

TEST_CASE("bubblewrap: a filter of system calls closes what nothing needs, and leaves open what is allowed") {
    scratch_dir const work;
    for (auto const& allowed :
         std::vector<std::vector<std::string>>{{}, {"unix-sockets"}, {"ptrace", "io-uring"}, {"user-namespaces"}}) {
        auto const wrapped = bubblewrap_sandbox{}.wrap(tries(allowed, work.path()));
        if (!wrapped) return ipybox::test::skip(wrapped.error().text());
        auto const seen = sandbox_test::run(*wrapped);
        CHECK(seen.output == "as it should be\n");
    }
}

TEST_CASE("bubblewrap: services of the user that listen on Unix sockets cannot be reached") {
    scratch_dir const work;
    auto const path = work.path() / "service";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    ipybox::os::unique_fd const service(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(service.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(service.get(), 1) == 0);
    auto spec = python({"-c", "import socket; socket.socket(socket.AF_UNIX).connect('service'); print('connected')"},
                       work.path());
    auto const closed = bubblewrap_sandbox{}.wrap(spec);
    if (!closed) return ipybox::test::skip(closed.error().text());
    CHECK(sandbox_test::run(*closed).output.find("PermissionError") != std::string::npos);
    spec.allow = {system_access::unix_sockets};
    CHECK(sandbox_test::run(bubblewrap_sandbox{}.wrap(spec).value()).output == "connected\n");
}

TEST_CASE("bubblewrap: with the program ends what it started, and no signal from inside reaches it") {
    scratch_dir const work;
    auto const code = R"(
import os, signal, subprocess, sys
child = subprocess.Popen(['sleep', '6464'], start_new_session=True)
if os.fork() == 0:
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM):
        os.kill(1, number)
    os._exit(0)
os.wait()
print(os.getpid(), flush=True)
)";
    auto const wrapped = bubblewrap_sandbox{}.wrap(python({"-c", code}, work.path()));
    if (!wrapped) return ipybox::test::skip(wrapped.error().text());
    // The end of the output: no process is left that holds it.
    CHECK(sandbox_test::run(*wrapped).output == "1\n");
}

TEST_CASE("bubblewrap: processes of the host are not there to be stopped") {
    scratch_dir const work;
    auto const code = "import os\ntry: os.kill(" + std::to_string(::getpid()) +
                      ", 0)\nexcept ProcessLookupError: print('is not there')";
    auto const wrapped = bubblewrap_sandbox{}.wrap(python({"-c", code}, work.path()));
    if (!wrapped) return ipybox::test::skip(wrapped.error().text());
    CHECK(sandbox_test::run(*wrapped).output == "is not there\n");
}

TEST_CASE(
    "bubblewrap: what makes the program the first to be killed or the last to run cannot be changed, by root either") {
    scratch_dir const work;
    auto const code = R"(
import os, subprocess
for name in ('oom_score_adj', 'oom_adj', 'autogroup'):
    try: open('/proc/1/' + name, 'r+b').write(b'0')
    except (PermissionError, FileNotFoundError): print('refused')
)";
    auto const wrapped = bubblewrap_sandbox{}.wrap(python({"-c", code}, work.path()));
    if (!wrapped) return ipybox::test::skip(wrapped.error().text());
    if (::geteuid() == 0) CHECK(sandbox_test::run(*wrapped).output == "refused\nrefused\nrefused\n");
}
