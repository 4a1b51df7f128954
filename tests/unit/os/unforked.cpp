#include <ipybox/os/datagram.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/catch.hpp>
#include <support/idle_fork.hpp>
#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox::os;
using ipybox::test::idle_fork;

/// The exit code of a forked child that runs a question.
template <class Question>
int answer_of_fork(Question ask) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(ask());
    int status = -1;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

bool is_socket(int descriptor) {
    struct stat what{};
    return ::fstat(descriptor, &what) == 0 && S_ISSOCK(what.st_mode);
}

/// The number of the file that a descriptor stands for.
ino_t file_of(int descriptor) {
    struct stat what{};
    return ::fstat(descriptor, &what) == 0 ? what.st_ino : 0;
}

/// Whether an event queue can watch it, and nothing has come or ended there.
bool is_silent(int descriptor) {
    int const queue = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event wanted{EPOLLIN | EPOLLRDHUP | EPOLLERR, {}};
    epoll_event seen{};
    return ::epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &wanted) == 0 && ::epoll_wait(queue, &seen, 1, 0) == 0;
}

/// Whether its end comes.
bool ends(int descriptor) {
    pollfd ended{descriptor, POLLIN, 0};
    char byte = 0;
    return ::poll(&ended, 1, 30'000) == 1 && ::read(descriptor, &byte, 1) == 0;
}

} // namespace

TEST_CASE("unforked: a fork has a silent socket in its place, and only while it is kept") {
    int both[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) == 0);
    unique_fd const mine(both[0]);
    unique_fd const other(both[1]);
    int const ours = mine.get();
    auto const state = [ours, own = file_of(ours)] {
        if (!is_socket(ours)) return 3;
        return file_of(ours) == own ? 1 : is_silent(ours) ? 2 : 4;
    };
    CHECK(answer_of_fork(state) == 1);
    {
        unforked first(ours);
        CHECK(answer_of_fork(state) == 2);
        CHECK(is_socket(ours));
        unforked moved(std::move(first));
        CHECK(answer_of_fork(state) == 2);
        first = unforked();
        CHECK(answer_of_fork(state) == 2);
        moved = unforked();
        CHECK(answer_of_fork(state) == 1);
    }
    CHECK(answer_of_fork(state) == 1);
}

TEST_CASE("unforked: the ends of sockets and pipes come though a fork lives on") {
    auto pair = make_seqpacket_pair();
    auto pipe = make_pipe();
    REQUIRE((pair && pipe));
    {
        idle_fork const lives;
        pair->ours.reset();
        pipe->writer.reset();
        CHECK(ends(pair->theirs.get()));
        CHECK(ends(pipe->reader.get()));
    }
    pair = make_stream_pair(0);
    REQUIRE(pair);
    std::vector<unforked> kept;
    kept.emplace_back(pair->ours.get());
    int const released = pair->ours.release(); // to whom keeps it out of forks by another `unforked`
    idle_fork const lives;
    kept.clear();
    ::close(released);
    CHECK(ends(pair->theirs.get()));
}

TEST_CASE("unforked: received descriptors are no fork's either") {
    auto carrier = make_seqpacket_pair();
    auto pipe = make_pipe();
    REQUIRE((carrier && pipe));
    std::vector<unique_fd> sent;
    sent.push_back(std::move(pipe->writer));
    REQUIRE(send_datagram(carrier->ours.get(), "x", sent) == transfer::done);
    sent.clear();
    std::string text;
    REQUIRE(receive_datagram(carrier->theirs.get(), text, 10, sent) == transfer::done);
    REQUIRE(sent.size() == 1);
    idle_fork const lives;
    sent.clear();
    CHECK(ends(pipe->reader.get()));
}

TEST_CASE("unforked: a lock goes with its descriptor though a fork lives on") {
    ipybox::test::scratch_dir const dir;
    auto const file = dir.path() / "lock";
    auto const open = [&file] { return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
    auto held = make_unforked(open);
    REQUIRE(::flock(held.get(), LOCK_EX | LOCK_NB) == 0);
    idle_fork const lives;
    auto const other = make_unforked(open);
    CHECK(::flock(other.get(), LOCK_EX | LOCK_NB) != 0);
    held.reset();
    CHECK(::flock(other.get(), LOCK_EX | LOCK_NB) == 0);
}

TEST_CASE("unforked: the output of a program ends with it though a fork lives on") {
    ipybox::test::scratch_dir const dir;
    auto const go_on = (dir.path() / "go_on").string();
    auto const begun = dir.path() / "begun";
    ipybox::launch_spec const spec{
        {"/bin/sh", "-c",
         "touch \"" + begun.string() + "\"; while ! [ -e \"" + go_on + "\" ]; do sleep 0.01; done; echo done"},
        {{"PATH", "/usr/bin:/bin"}},
        "/"};
    auto output = std::async(std::launch::async, [&spec] { return program_output(spec, 60s); });
    while (!std::filesystem::exists(begun)) std::this_thread::sleep_for(1ms);
    idle_fork const lives;
    std::ofstream{go_on};
    REQUIRE(output.wait_for(30s) == std::future_status::ready);
    CHECK(output.get().value_or("none") == "done\n");
}

TEST_CASE("unforked: forks while other threads keep and let go") {
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop) {
            { unforked const kept(1'000'000); } // a number that is no descriptor
            (void)make_pipe();
            std::this_thread::yield(); // or it would take the lock again before a woken thread does, for as long as it
                                       // likes
        }
    });
    for (int i = 0; i < 50; ++i)
        REQUIRE(answer_of_fork([] {
                    unforked const kept(1'000'001); // the child can go on
                    return 7;
                }) == 7);
    stop = true;
    other.join();
}
