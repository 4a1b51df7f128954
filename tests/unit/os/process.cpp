#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>

#include <support/catch.hpp>
#include <support/child.hpp>
#include <support/contains.hpp>
#include <support/denied_call.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::os;
using test::contains;
using test::scratch_dir;

constexpr auto generous = 30s;

launch_spec shell(std::string script) {
    return {{"/bin/sh", "-c", std::move(script)}, {{"PATH", "/usr/bin:/bin"}}, "/"};
}

struct open_pipe {
    open_pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        from.reset(ends[0]);
        to.reset(ends[1]);
    }

    /// Everything up to the end of file: until the last process that has the other end is gone. None when that takes
    /// too long.
    std::optional<std::string> all() {
        to.reset();
        std::string text;
        char bytes[4096];
        for (;;) {
            pollfd readable{from.get(), POLLIN, 0};
            if (::poll(&readable, 1, 30'000) <= 0) return std::nullopt;
            auto const count = ::read(from.get(), bytes, sizeof bytes);
            if (count <= 0) return text;
            text.append(bytes, static_cast<std::size_t>(count));
        }
    }

    unique_fd from;
    unique_fd to;
};

/// What a script prints.
std::string output_of(launch_spec const& spec, std::vector<handed_descriptor> more = {}) {
    open_pipe out;
    more.push_back({1, out.to.get()});
    auto child = start_process(spec, std::move(more));
    if (!child) return child.error().text();
    auto text = out.all();
    if (child->wait(generous)->code != 0) return "failed";
    return text.value_or("no end");
}

std::string failure_of(launch_spec const& spec, std::vector<handed_descriptor> descriptors = {}) {
    auto const child = start_process(spec, std::move(descriptors));
    REQUIRE_FALSE(child);
    CHECK(child.error() == errc::io_error);
    return child.error().text();
}

/// Puts the first line of a pipe aside, once it is there.
std::string first_line(open_pipe& p) {
    std::string line;
    for (char c = 0; ::read(p.from.get(), &c, 1) == 1 && c != '\n';) line.push_back(c);
    return line;
}

} // namespace

TEST_CASE("process: exit codes and signals") {
    for (int const code : {0, 1, 42, 255}) {
        auto child = start_process(shell("exit " + std::to_string(code)), {});
        REQUIRE(child);
        CHECK(child->pid() > 0);
        CHECK(child->wait(generous) == exit_status{code, {}});
        CHECK(child->wait(0ms) == exit_status{code, {}}); // it is known from now on
    }
    auto child = start_process(shell("kill -TERM $$"), {});
    REQUIRE(child);
    CHECK(child->wait(generous) == exit_status{{}, SIGTERM});
}

TEST_CASE("process: waiting has a bound") {
    auto child = start_process({{"/bin/sleep", "1000"}, {}, "/"}, {});
    REQUIRE(child);
    CHECK(child->wait(0ms) == std::nullopt);
    CHECK(child->wait(-5ms) == std::nullopt);
    CHECK(child->wait(20ms) == std::nullopt);
    child->signal(SIGKILL);
    CHECK(child->wait(generous) == exit_status{{}, SIGKILL});
    child->signal(SIGKILL); // nobody is hit
    child->kill_tree();
}

TEST_CASE("process: its descriptor tells the end") {
    auto child = start_process(shell("exit 3"), {});
    REQUIRE(child);
    pollfd ended{child->descriptor(), POLLIN, 0};
    REQUIRE(::poll(&ended, 1, 30'000) == 1);
    CHECK(child->wait(0ms) == exit_status{3, {}});
}

TEST_CASE("process: reaped by somebody else") {
    auto child = start_process(shell("exit 3"), {});
    REQUIRE(child);
    REQUIRE(::waitpid(child->pid(), nullptr, 0) == child->pid());
    auto const status = child->wait(generous);
    REQUIRE(status);
    CHECK(to_string(*status) == "unknown cause");
}

/// Leaves a process behind that prints its new parent, and stays.
constexpr char const* leaving_an_orphan = R"(
sh -c '
look() { while read -r name value; do [ "$name" != PPid: ] || parent=$value; done </proc/self/status; }
(look; while [ "$parent" = $$ ]; do look; done; echo "$parent") &
'
exec sleep 1000
)";

TEST_CASE("process: where that is asked for, orphans below it come to it, also to what it runs later") {
    open_pipe out;
    auto const child = start_process(shell(leaving_an_orphan), {{1, out.to.get()}}, orphans::adopted);
    REQUIRE(child);
    CHECK(first_line(out) == std::to_string(child->pid()));
    auto const other = start_process(shell(leaving_an_orphan), {{1, out.to.get()}});
    REQUIRE(other);
    CHECK(first_line(out) != std::to_string(other->pid()));
}

TEST_CASE("process: none") {
    process none;
    CHECK(none.wait(0ms) == std::nullopt);
    none.signal(SIGKILL);
    none.kill_tree();
    CHECK(none.descriptor() == -1);
}

TEST_CASE("process: says which step failed, of what") {
    scratch_dir const dir;
    auto const text = dir.write("text", "no program");
    CHECK(failure_of({{"/no/such/program"}, {}, "/"}) == "starting /no/such/program: No such file or directory");
    CHECK(failure_of({{text.string()}, {}, "/"}) == "starting " + text.string() + ": Permission denied");
    std::filesystem::permissions(text, std::filesystem::perms::owner_all);
    CHECK(failure_of({{text.string()}, {}, "/"}) == "starting " + text.string() + ": Exec format error");
    CHECK(failure_of({{"/bin/true"}, {}, "/no/such/dir"}) ==
          "changing to the directory /no/such/dir: No such file or directory");
    CHECK(failure_of({{"/bin/true"}, {}, text}) == "changing to the directory " + text.string() + ": Not a directory");
    CHECK(contains(failure_of({{"/bin/true"}, {}, "/"}, {{3, 9999}}), "starting /bin/true (dup): Bad file descriptor"));

    auto const nothing = start_process({{}, {}, "/"}, {});
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error() == errc::invalid_argument);
}

TEST_CASE("process: arguments and environment are exactly those given") {
    ::setenv("IPYBOX_TEST_LEAK", "1", 1);
    CHECK(output_of({{"/usr/bin/env"}, {{"A", "1"}, {"B", "two words = ü"}, {"C", ""}}, "/"}) ==
          "A=1\nB=two words = ü\nC=\n");
    CHECK(output_of({{"/usr/bin/env"}, {}, "/"}) == "");
    ::unsetenv("IPYBOX_TEST_LEAK");
    CHECK(output_of({{"/usr/bin/printf", "[%s]", "", "a b", "\"'$x\\"}, {}, "/"}) == "[][a b][\"'$x\\]");
}

TEST_CASE("process: works where it is told to") {
    scratch_dir const dir;
    auto const real = std::filesystem::canonical(dir.path());
    auto spec = shell("pwd -P");
    spec.working_dir = real;
    CHECK(output_of(spec) == real.string() + "\n");
}

TEST_CASE("process: exactly the handed descriptors are open") {
    // Some that could leak: not close-on-exec, also above those that are handed.
    unique_fd const low(::open("/dev/null", O_RDONLY));
    unique_fd const high(::fcntl(low.get(), F_DUPFD, 200));
    REQUIRE(high);
    auto const list = shell("ls /proc/$$/fd; :");
    CHECK(output_of(list) == "0\n1\n2\n");
    CHECK(output_of(list, {{3, low.get()}}) == "0\n1\n2\n3\n");
    CHECK(output_of(list, {{7, low.get()}, {5, high.get()}}) == "0\n1\n2\n5\n7\n");
    CHECK(output_of(list, {{250, low.get()}}) == "0\n1\n2\n250\n");

    auto const standard = shell("readlink /proc/$$/fd/0");
    CHECK(output_of(standard) == "/dev/null\n");
    auto child = start_process(shell("test \"$(readlink /proc/$$/fd/1)\" = /dev/null"), {});
    REQUIRE(child);
    CHECK(child->wait(generous)->code == 0);
}

TEST_CASE("process: descriptors are closed also where close_range is denied") {
    unique_fd const low(::open("/dev/null", O_RDONLY));
    unique_fd const high(::fcntl(low.get(), F_DUPFD, 777));
    REQUIRE(high);
    std::vector<unique_fd> many; // more than one reading of the list brings
    while (many.size() < 300) many.emplace_back(::fcntl(low.get(), F_DUPFD, 20));
    auto const list = shell("ls /proc/$$/fd; :");
    for (unsigned const why : {EPERM, ENOSYS}) {
        std::string open;
        std::string handed;
        std::thread([&] {
            test::deny_calls({SYS_close_range}, why);
            open = output_of(list);
            handed = output_of(list, {{250, low.get()}});
        }).join();
        CHECK(open == "0\n1\n2\n");
        CHECK(handed == "0\n1\n2\n250\n");
    }
}

TEST_CASE("process: is not started where descriptors cannot be closed") {
    std::optional<result<process>> child;
    test::without_calls({SYS_close_range, SYS_getdents64}, [&] { child = start_process(shell("exit 0"), {}); });
    REQUIRE_FALSE(*child);
    CHECK(child->error() == errc::io_error);
    CHECK(child->error().text() == "starting /bin/sh (closing the application's descriptors needs close_range(2) or "
                                   "/proc): Operation not permitted");
}

TEST_CASE("process: numbers that overlap with those of their sources") {
    open_pipe a;
    open_pipe b;
    REQUIRE(::write(a.to.get(), "from a\n", 7) == 7);
    REQUIRE(::write(b.to.get(), "from b\n", 7) == 7);
    a.to.reset();
    b.to.reset();
    // Each gets the number that the other one has here.
    auto const x = std::to_string(a.from.get());
    auto const y = std::to_string(b.from.get());
    if (a.from.get() < 10 && b.from.get() < 10) { // a plain shell knows no higher numbers
        auto const text = output_of(shell("cat <&" + x + "; cat <&" + y),
                                    {{a.from.get(), b.from.get()}, {b.from.get(), a.from.get()}});
        CHECK(text == "from b\nfrom a\n");
    }

    open_pipe same;
    REQUIRE(::write(same.to.get(), "in place\n", 9) == 9);
    same.to.reset();
    CHECK(output_of(shell("cat <&" + std::to_string(same.from.get())), {{same.from.get(), same.from.get()}}) ==
          "in place\n");
    CHECK((::fcntl(same.from.get(), F_GETFD) & FD_CLOEXEC) != 0); // here nothing has changed

    open_pipe in;
    REQUIRE(::write(in.to.get(), "line\n", 5) == 5);
    in.to.reset();
    CHECK(output_of(shell("cat; cat <&3"), {{0, in.from.get()}, {3, in.from.get()}}) == "line\n");
}

TEST_CASE("process: 0 and 1 are open also where the application has closed them") {
    open_pipe told;
    pid_t const application = ::fork();
    if (application == 0) {
        ::close(0);
        ::close(1);
        auto child =
            start_process(shell("in=$(readlink /proc/$$/fd/0); out=$(readlink /proc/$$/fd/1); echo $in $out >&3"),
                          {{3, told.to.get()}});
        ::_exit(child && child->wait(generous) == exit_status{0, {}} ? 0 : 1);
    }
    REQUIRE(application > 0);
    CHECK(told.all().value_or("no end") == "/dev/null /dev/null\n");
    int status = -1;
    REQUIRE(::waitpid(application, &status, 0) == application);
    CHECK(status == 0);
}

TEST_CASE("process: leads a group, in a session of its own that it does not lead") {
    auto const read = "read -r pid name state parent group session rest < /proc/$$/stat; echo $parent $group $session";
    open_pipe out;
    auto child = start_process(shell(read), {{1, out.to.get()}});
    REQUIRE(child);
    std::istringstream said(out.all().value_or(""));
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    said >> parent >> group >> session;
    CHECK(parent == ::getpid());
    CHECK(group == child->pid());
    CHECK(session != child->pid());
    CHECK(session != ::getsid(0));
    CHECK(session != 0);
}

TEST_CASE("process: the process that begins its session is reaped") {
    auto child = start_process(shell("exec sleep 60"), {});
    REQUIRE(child);
    std::ifstream children("/proc/thread-self/children");
    std::vector<pid_t> const of_this_thread{std::istream_iterator<pid_t>(children), {}};
    CHECK(of_this_thread == std::vector<pid_t>{child->pid()});
}

TEST_CASE("process: is not started where what begins its session is killed") {
    // The program waits for room in the pipe, as if for its control group; the leader of its session waits for it.
    open_pipe full;
    REQUIRE(::fcntl(full.to.get(), F_SETFL, O_NONBLOCK) == 0);
    std::string const page(4096, ' ');
    while (::write(full.to.get(), page.data(), page.size()) > 0) {}
    while (::write(full.to.get(), page.data(), 1) > 0) {}
    REQUIRE(::fcntl(full.to.get(), F_SETFL, 0) == 0);

    pid_t const starter = static_cast<pid_t>(::syscall(SYS_gettid));
    std::atomic<int> begun = 0;
    std::thread killer([&] {
        for (bool killed = false; !killed; std::this_thread::sleep_for(1ms)) {
            std::ifstream list("/proc/self/task/" + std::to_string(starter) + "/children");
            std::vector<pid_t> const children{std::istream_iterator<pid_t>(list), {}};
            begun = static_cast<int>(children.size());
            for (pid_t const child : children)
                if (children.size() == 2 && ::getsid(child) == child) killed = ::kill(child, SIGKILL) == 0;
        }
    });
    auto const child = start_process(shell("exit 0"), {}, orphans::left, full.to.get());
    killer.join();
    CHECK(begun == 2);
    REQUIRE_FALSE(child);
    CHECK(child.error() == errc::io_error);
    CHECK(contains(child.error().text(), "starting /bin/sh: it was killed while it began"));
    CHECK(::waitpid(-1, nullptr, WNOHANG) < 0); // there are no children any more
}

TEST_CASE("process: is started or not where children are killed as they come") {
    pid_t const starter = static_cast<pid_t>(::syscall(SYS_gettid));
    std::atomic<bool> done = false;
    std::thread killer([&] {
        while (!done) {
            std::ifstream list("/proc/self/task/" + std::to_string(starter) + "/children");
            for (pid_t child = 0; list >> child;) (void)::kill(child, SIGKILL);
        }
    });
    for (int round = 0; round < 200; ++round) {
        auto child = start_process(shell("exit 0"), {});
        if (!child) continue;
        CHECK(child->pid() > 1);
        CHECK(child->wait(generous));
    }
    done = true;
    killer.join();
}

TEST_CASE("process: a terminal that it opens is not its controlling one") {
    int const terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    REQUIRE(terminal >= 0);
    unique_fd const master(terminal);
    REQUIRE(::grantpt(terminal) == 0);
    REQUIRE(::unlockpt(terminal) == 0);
    auto const name = std::string(::ptsname(terminal));
    CHECK(output_of(shell("exec 3<>" + name +
                          "; if (: < /dev/tty) 2> /dev/null; then echo has; else echo has none; fi")) == "has none\n");
}

TEST_CASE("process: Ctrl-C that comes while it is started is the application's alone") {
    pid_t const application = ::fork();
    if (application == 0) {
        ::setpgid(0, 0);
        std::signal(SIGINT, [](int) {});
        std::atomic<bool> done = false;
        std::thread presses([&done] {
            while (!done) ::kill(0, SIGINT);
        });
        int ended = 0;
        for (int turn = 0; turn < 300; ++turn) {
            auto child = start_process(shell("exit 0"), {});
            if (child && child->wait(generous)->code == 0) ++ended;
        }
        done = true;
        presses.join();
        std::_Exit(ended == 300 ? 0 : 1);
    }
    CHECK(test::end_of(application) == "0");
}

TEST_CASE("process: signals are as new") {
    auto const before = std::signal(SIGPIPE, SIG_IGN);
    auto const other = std::signal(SIGUSR1, SIG_IGN);
    sigset_t blocked;
    sigset_t old;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
    // Not the shell's own: it may change them.
    auto const text = output_of({{"/bin/grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"}, {}, "/"});
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, &old, &now);
    CHECK(text == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    CHECK(::sigismember(&now, SIGTERM) == 1);
    CHECK(::sigismember(&now, SIGINT) == 0);
    CHECK(std::signal(SIGPIPE, before) == SIG_IGN); // here nothing has changed
    std::signal(SIGUSR1, other);
}

TEST_CASE("process: signals its whole group, also when it has ended itself") {
    open_pipe alive;
    auto child = start_process(shell("sleep 1000 & sleep 1000 & exit 3"), {{3, alive.to.get()}});
    REQUIRE(child);
    pollfd ended{child->descriptor(), POLLIN, 0};
    REQUIRE(::poll(&ended, 1, 30'000) == 1);
    child->signal_group(SIGTERM);
    CHECK(alive.all() == ""); // nobody has its other end any more
    CHECK(child->wait(0ms) == exit_status{3, {}});
    child->signal_group(SIGKILL); // nobody is hit
    process().signal_group(SIGKILL);
}

TEST_CASE("process: signals what is left of its group where children are reaped by the system") {
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    auto const rest_is_killed = [] {
        open_pipe alive;
        auto child = start_process(shell("sleep 1000 & exit 3"), {{3, alive.to.get()}});
        pollfd ended{child ? child->descriptor() : -1, POLLIN, 0};
        if (!child || ::poll(&ended, 1, 30'000) != 1) return false;
        bool const unknown = child->wait(generous) == exit_status{};
        child->signal_group(SIGKILL);
        return unknown && alive.all() == "";
    };
    CHECK(rest_is_killed());
    std::signal(SIGCHLD, before);
}

TEST_CASE("process: signals its group where pidfds cannot be signalled") {
    auto const before = std::signal(SIGCHLD, SIG_IGN);
    bool reaped_by_system = false;
    bool alive_yet = false;
    test::without_calls({SYS_pidfd_send_signal}, [&] {
        open_pipe alive;
        auto child = start_process(shell("sleep 1000 & exit 3"), {{3, alive.to.get()}});
        pollfd ended{child ? child->descriptor() : -1, POLLIN, 0};
        if (child && ::poll(&ended, 1, 30'000) == 1) {
            child->signal_group(SIGKILL);
            reaped_by_system = alive.all() == "";
        }
        auto other = start_process(shell("exec sleep 1000"), {});
        if (!other) return;
        other->signal(SIGTERM);
        (void)other->wait(generous);
        alive_yet = ::kill(other->pid(), 0) == 0;
    });
    std::signal(SIGCHLD, before);
    CHECK(reaped_by_system);
    CHECK_FALSE(alive_yet);
}

TEST_CASE("process: signals and destroys where pidfds cannot be signalled") {
    std::optional<exit_status> told;
    bool destroyed = false;
    test::without_calls({SYS_pidfd_send_signal}, [&] {
        auto child = start_process(shell("exec sleep 1000"), {});
        if (!child) return;
        child->signal(SIGTERM);
        told = child->wait(generous);
        open_pipe alive;
        child = start_process(shell("sleep 1000 & wait"), {{3, alive.to.get()}});
        child = process();
        destroyed = alive.all() == "";
    });
    CHECK(told == exit_status{{}, SIGTERM});
    CHECK(destroyed);
}

TEST_CASE("process: a fork of its owner neither signals nor waits") {
    auto child = start_process(shell("sleep 1000 & wait"), {});
    REQUIRE(child);
    pid_t const forked = ::fork();
    if (forked == 0) {
        auto const began = std::chrono::steady_clock::now();
        child->signal(SIGKILL);
        child->signal_group(SIGKILL);
        child->kill_tree();
        *child = process();
        ::_exit(std::chrono::steady_clock::now() - began < 500ms ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(forked, &status, 0) == forked);
    CHECK(status == 0);
    CHECK(child->wait(100ms) == std::nullopt);
    child->kill_tree();
    CHECK(child->wait(generous) == exit_status{{}, SIGKILL});
}

TEST_CASE("process: waits within every bound") {
    auto child = start_process(shell("exit 3"), {});
    REQUIRE(child);
    CHECK(child->wait(std::chrono::milliseconds::max()) == exit_status{3, {}});
    child = start_process(shell("exec sleep 1000"), {});
    REQUIRE(child);
    CHECK(child->wait(std::chrono::milliseconds::min()) == std::nullopt);
}

TEST_CASE("process: kill_tree ends everything below") {
    open_pipe alive;
    auto child =
        start_process(shell("sleep 1000 & sh -c 'sleep 1000 & sh -c \"sleep 1000 & echo up >&3; wait\"' & wait"),
                      {{3, alive.to.get()}});
    REQUIRE(child);
    REQUIRE(first_line(alive) == "up");
    child->kill_tree();
    CHECK(child->wait(generous) == exit_status{{}, SIGKILL});
    CHECK(alive.all() == ""); // nobody is left who has the pipe
}

TEST_CASE("process: kill_tree ends what has lost its parent in the group") {
    open_pipe alive;
    // the one between ends at once, and its child is nobody's below
    auto child = start_process(shell("sh -c 'sleep 1000 & echo up >&3'; exec sleep 1000"), {{3, alive.to.get()}});
    REQUIRE(child);
    REQUIRE(first_line(alive) == "up");
    child->kill_tree();
    CHECK(child->wait(generous) == exit_status{{}, SIGKILL});
    CHECK(alive.all() == "");
}

TEST_CASE("program_output: waits for the program, and not for what it has started") {
    auto const begun = std::chrono::steady_clock::now();
    auto const said = program_output(shell("sleep 1000 & echo $!"), 60s);
    REQUIRE(said);
    CHECK(std::chrono::steady_clock::now() - begun < 60s);
    auto const left = static_cast<pid_t>(std::stol(*said));
    REQUIRE(left > 1);
    auto const runs = [&] { // one that init has not reaped yet does not
        std::ifstream file("/proc/" + std::to_string(left) + "/stat");
        std::string number, name, state;
        return file >> number >> name >> state && state != "Z";
    };
    for (int i = 0; i < 3000 && runs(); ++i) std::this_thread::sleep_for(10ms);
    CHECK_FALSE(runs());
}

TEST_CASE("process: kill_tree is not outrun by a process that starts others anew") {
    // As soon as the first one dies, ten more are there.
    std::string const script = "echo up >&3; while :; do sleep 100 & first=$!; for i in 1 2 3 4 5 6 7 8 9; do sleep "
                               "100 & done; wait $first; done";
    for (int round = 0; round < 10; ++round) {
        open_pipe alive;
        auto child = start_process(shell(script), {{3, alive.to.get()}});
        REQUIRE(child);
        REQUIRE(first_line(alive) == "up");
        CHECK(child->wait(10ms) == std::nullopt);
        child->kill_tree();
        CHECK(child->wait(generous) == exit_status{{}, SIGKILL});
        REQUIRE(alive.all() == "");
    }
}

TEST_CASE("process: kill_tree after somebody else has reaped it") {
    auto child = start_process(shell("exit 0"), {});
    REQUIRE(child);
    REQUIRE(::waitpid(child->pid(), nullptr, 0) == child->pid());
    child->kill_tree(); // nobody is hit
    CHECK(child->wait(generous) == exit_status{});
}

TEST_CASE("process: the destructor kills") {
    open_pipe alive;
    pid_t pid = 0;
    {
        auto child =
            start_process(shell("trap '' TERM INT HUP; sleep 1000 & echo up >&3; wait"), {{3, alive.to.get()}});
        REQUIRE(child);
        pid = child->pid();
        REQUIRE(first_line(alive) == "up");
    }
    CHECK(alive.all() == "");
    CHECK(::waitpid(pid, nullptr, WNOHANG) == -1); // and reaps
    CHECK(errno == ECHILD);
}

TEST_CASE("process: moves") {
    open_pipe first;
    open_pipe second;
    auto a = start_process(shell("echo up >&3; sleep 1000"), {{3, first.to.get()}});
    auto b = start_process(shell("echo up >&3; sleep 1000"), {{3, second.to.get()}});
    REQUIRE((a && b));
    REQUIRE(first_line(first) == "up");
    REQUIRE(first_line(second) == "up");
    process moved(std::move(*a));
    CHECK(a->pid() == -1);
    CHECK(moved.wait(0ms) == std::nullopt);
    auto const pid = b->pid();
    moved = std::move(*b); // ends what it had
    CHECK(first.all() == "");
    CHECK(moved.pid() == pid);
    CHECK(moved.wait(0ms) == std::nullopt);
    moved = process();
    CHECK(second.all() == "");
}

TEST_CASE("process: from several threads at once", "[tsan]") {
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&good, t] {
            for (int i = 0; i < 25; ++i) {
                open_pipe out;
                auto child = start_process(shell("ls /proc/$$/fd; exit " + std::to_string(t)), {{1, out.to.get()}});
                if (!child) continue;
                auto const listed = out.all();
                if (child->wait(generous) == exit_status{t, {}} && listed == "0\n1\n2\n") ++good;
            }
        });
    }
    for (auto& t : threads) t.join();
    CHECK(good == 100);
}

TEST_CASE("host_programs: finds them as a shell would") {
    scratch_dir const dir;
    auto const tool = dir.write("first/tool", "#!/bin/sh\n");
    auto const hidden = dir.write("second/tool", "#!/bin/sh\n");
    auto const plain = dir.write("first/plain", "text");
    auto const runnable = dir.write("second/plain", "#!/bin/sh\n");
    std::filesystem::create_directories(dir.path() / "first" / "folder");
    for (auto const& file : {tool, hidden, runnable})
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);

    char const* const before = std::getenv("PATH");
    std::string const saved = before ? before : "";
    ::setenv("PATH",
             (":" + (dir.path() / "none").string() + ":" + (dir.path() / "first").string() + ":" +
              (dir.path() / "second").string())
                 .c_str(),
             1);
    auto const programs = [] { return ipybox::os::host_programs(ipybox::os::host_environment::now()); };
    CHECK(programs().find("tool") == tool);
    CHECK(programs().find("plain") == runnable);
    CHECK(programs().find("folder").empty());
    CHECK(programs().find("absent").empty());
    CHECK(programs().find("tool", (dir.path() / "second").string()) == hidden);
    CHECK(programs().find("tool", "/no/such::" + (dir.path() / "first").string()) == tool);
    CHECK(programs().find("tool", "").empty());
    {
        auto const here = std::filesystem::current_path();
        std::filesystem::current_path(dir.path());
        CHECK(programs().find("tool", "first:.").empty()); // code may write to the current directory
        std::filesystem::current_path(here);
    }
    CHECK(programs().find("").empty());
    CHECK(programs().find(tool.string()) == tool);
    CHECK(programs().find(plain.string()).empty());
    CHECK(programs().find((dir.path() / "first").string()).empty());
    CHECK(programs().find("/no/such").empty());
    ::setenv("PATH", "", 1);
    CHECK(programs().find("tool").empty());
    ::unsetenv("PATH");
    CHECK(programs().find("sh").is_absolute());
    ::setenv("PATH", saved.c_str(), 1);
}
