#include <ipybox/os/datagram.hpp>
#include <ipybox/os/unforked.hpp>

#include <support/catch.hpp>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox::os;

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

} // namespace

TEST_CASE("unforked: a fork has a silent socket in its place, and only while it is kept") {
    auto pair = make_seqpacket_pair();
    REQUIRE(pair);
    int const ours = pair->ours.get();
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

TEST_CASE("unforked: the other end sees the end though a fork lives on") {
    auto pair = make_seqpacket_pair();
    REQUIRE(pair);
    std::vector<unforked> kept;
    kept.emplace_back(pair->ours.get());
    pid_t const child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    kept.clear();
    pair->ours.reset();
    pollfd ended{pair->theirs.get(), POLLIN, 0};
    CHECK(::poll(&ended, 1, 30'000) == 1);
    char byte = 0;
    CHECK(::read(pair->theirs.get(), &byte, 1) == 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("unforked: forks while other threads keep and let go") {
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop) {
            { unforked const kept(1'000'000); } // a number that is no descriptor
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
