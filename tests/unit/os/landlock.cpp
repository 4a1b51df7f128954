#include <ipybox/os/confinement.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/landlock.hpp>
#include <ipybox/os/process.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/denied_call.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>
#include <support/skip.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::os;
using test::contains;
using test::scratch_dir;

/// Why there is no domain here, or nothing.
std::string missing() {
    auto const rules = landlock_rules::make();
    return rules ? std::string() : rules.error().text();
}

std::string bytes_of(sock_filter const& step) { return {reinterpret_cast<char const*>(&step), sizeof step}; }

std::string filter_without(int call) {
    return bytes_of(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))) +
           bytes_of(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1)) +
           bytes_of(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)) +
           bytes_of(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

/// The system's programs can be read, and `dir` be written to; no directory can be made.
std::shared_ptr<confinement const> confinement_to(std::filesystem::path const& dir) {
    auto rules = landlock_rules::make();
    REQUIRE(rules);
    for (auto const* path : {"/usr", "/lib", "/lib64", "/bin", "/etc", "/proc"})
        if (std::filesystem::exists(path)) REQUIRE(rules->grant(std::filesystem::canonical(path), file_access::read));
    REQUIRE(rules->grant(dir, file_access::write));
    REQUIRE(rules->grant("/dev/null", file_access::device));
    confinement made{std::move(*rules).release(), filter_without(SYS_mkdir)};
    return std::make_shared<confinement const>(std::move(made));
}

/// What a script says in the domain, on both outputs.
std::string said(std::string script, std::filesystem::path const& dir) {
    launch_spec spec{{"/bin/sh", "-c", std::move(script)}, {{"PATH", "/usr/bin:/bin"}}, dir};
    spec.confinement = confinement_to(dir);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    unique_fd const reader(ends[0]);
    unique_fd writer(ends[1]);
    auto child = start_process(spec, {{1, writer.get()}, {2, writer.get()}});
    if (!child) return child.error().text();
    writer.reset();
    std::string text;
    char chunk[4096];
    for (ssize_t n; (n = ::read(reader.get(), chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(n));
    if (!child->wait(30s)) return "no end";
    return text;
}

} // namespace

TEST_CASE("landlock: a domain reads and writes what is granted") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    scratch_dir const outside;
    std::ofstream(outside.path() / "secret") << "secret\n";
    CHECK(said("echo made > a && mv a b && cat b && rm b && head -c 1 /dev/null", dir.path()) == "made\n");
    auto const secret = (outside.path() / "secret").string();
    CHECK(contains(said("cat " + secret, dir.path()), "Permission denied"));
    CHECK(contains(said("ls " + outside.path().string(), dir.path()), "Permission denied"));
    CHECK(contains(said("echo x > " + (outside.path() / "new").string(), dir.path()), "Permission denied"));
    CHECK(contains(said("truncate -s 0 " + secret, dir.path()), "Permission denied"));
    CHECK(contains(said("mv " + secret + " here", dir.path()), "Permission denied"));
    CHECK(contains(said("echo x >> /etc/hosts", dir.path()), "Permission denied"));
    CHECK(contains(said("head -c 1 /dev/kmsg", dir.path()), "Permission denied"));
    CHECK(std::filesystem::file_size(outside.path() / "secret") == 7);
}

/// What comes of granting a directory, a link to it, and a directory below that link.
std::vector<bool> granted_with_and_without_link() {
    scratch_dir const dir;
    std::filesystem::create_directories(dir.path() / "real/below");
    std::filesystem::create_directory_symlink("real", dir.path() / "link");
    auto const place = std::filesystem::canonical(dir.path());
    auto rules = landlock_rules::make();
    std::vector<bool> granted;
    for (auto const* name : {"real", "real/below/", "link", "link/below", "gone"}) {
        auto const done = rules->grant(place / name, file_access::write);
        granted.push_back(done || done.error() != errc::io_error);
    }
    return granted;
}

TEST_CASE("landlock: a link is not granted, whatever put it there") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    std::vector<bool> const expected{true, true, false, false, false};
    CHECK(granted_with_and_without_link() == expected);
    std::vector<bool> in_a_sandbox; // whose filter says that there is no openat2
    std::thread([&] {
        test::deny_calls({SYS_openat2}, ENOSYS);
        in_a_sandbox = granted_with_and_without_link();
    }).join();
    CHECK(in_a_sandbox == expected);
}

TEST_CASE("landlock: a domain signals no process outside of it") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    auto const us = std::to_string(::getpid());
    CHECK(contains(said("kill -0 " + us, dir.path()), "not permitted"));
    CHECK(said("sleep 60 & kill $! && echo its own", dir.path()) == "its own\n");
}

TEST_CASE("landlock: what is confined has no capabilities, gets no privileges, and its system calls are filtered") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    auto const status = said("cat /proc/self/status", dir.path());
    for (auto const* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
        CHECK(contains(status, std::string(set) + ":\t0000000000000000"));
    if (::geteuid() == 0) CHECK(contains(status, "CapBnd:\t0000000000000000"));
    CHECK(contains(status, "NoNewPrivs:\t1"));
    CHECK(contains(status, "Seccomp:\t2"));
    CHECK(contains(said("mkdir here", dir.path()), "not permitted"));
}

TEST_CASE("landlock: the domain's descriptor is not open in the program, whatever number it has here") {
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    scratch_dir const dir;
    CHECK(said("ls /proc/self/fd | tr '\\n' ' '", dir.path()) == "0 1 2 3 ");
    // Here it may have the number of what is handed over.
    launch_spec spec{{"/bin/sh", "-c", ""}, {{"PATH", "/usr/bin:/bin"}}, dir.path()};
    spec.confinement = confinement_to(dir.path());
    int const number = spec.confinement->domain.get();
    spec.argv[2] = "cat /proc/self/fd/" + std::to_string(number) + " > got && ! touch /etc/new";
    auto const input = make_memory_file("input", "handed over");
    REQUIRE(input);
    auto child = start_process(spec, {{number, input->get()}});
    REQUIRE(child);
    CHECK(child->wait(30s) == exit_status{0, {}});
    CHECK(test::read_file(dir.path() / "got") == "handed over");
}

TEST_CASE("landlock: a domain that cannot be entered is an error, and the program does not run") {
    scratch_dir const dir;
    auto const not_rules = [] { return unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); };
    launch_spec spec{{"/bin/sh", "-c", ": > ran"}, {}, dir.path()};
    confinement made{not_rules(), filter_without(SYS_mkdir)};
    spec.confinement = std::make_shared<confinement const>(std::move(made));
    auto const child = start_process(spec, {});
    REQUIRE_FALSE(child);
    CHECK(contains(child.error().text(), "starting /bin/sh (entering a domain of Landlock)"));
    CHECK_FALSE(std::filesystem::exists(dir.path() / "ran"));
    if (auto const why = missing(); !why.empty()) return test::skip(why);
    confinement unfiltered{std::move(*landlock_rules::make()).release(), "not a filter"};
    spec.confinement = std::make_shared<confinement const>(std::move(unfiltered));
    auto const second = start_process(spec, {});
    REQUIRE_FALSE(second);
    CHECK(contains(second.error().text(), "starting /bin/sh (filtering system calls)"));
}
