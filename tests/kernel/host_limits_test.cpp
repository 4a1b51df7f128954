// Hosts that may take little of the machine themselves.

#include <ipybox/ipybox.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <future>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

/// While there is one, a limit of this process is lower.
class lower_limit {
  public:
    lower_limit(__rlimit_resource kind, rlim_t most) : kind_(kind) {
        ::getrlimit(kind_, &before_);
        auto lower = before_;
        lower.rlim_cur = most;
        ::setrlimit(kind_, &lower);
    }
    lower_limit(lower_limit const&) = delete;
    lower_limit& operator=(lower_limit const&) = delete;
    ~lower_limit() { ::setrlimit(kind_, &before_); }

  private:
    __rlimit_resource kind_;
    rlimit before_{};
};

/// As programs have it that did not change what SIGXFSZ does: the end.
class deadly_file_size_signal {
  public:
    deadly_file_size_signal() : before_(std::signal(SIGXFSZ, SIG_DFL)) {}
    deadly_file_size_signal(deadly_file_size_signal const&) = delete;
    deadly_file_size_signal& operator=(deadly_file_size_signal const&) = delete;
    ~deadly_file_size_signal() { std::signal(SIGXFSZ, before_); }

  private:
    void (*before_)(int);
};

/// The stack of this thread does not grow any more afterwards, for a while: a low limit would end the program then.
void grow_stack() {
    char volatile room[256 * 1024];
    for (std::size_t i = 0; i < sizeof room; i += 4096) room[i] = 0;
}

} // namespace

TEST_CASE("a host whose programs have too small a stack for Python is told so", "[kernel]") {
    kernel_box<> box;
    grow_stack();
    lower_limit const stack(RLIMIT_STACK, 16 * 1024); // with 64 KiB some Pythons start, by where the system puts them
    auto const r = box->start();
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_start_failed);
    CHECK_THAT(r.error().text(), Contains("a stack of 16384 bytes (RLIMIT_STACK, `ulimit -s`)"));
}

TEMPLATE_TEST_CASE("a host that may write no files lives on, and is told so", "[kernel]", no_sandbox,
                   bubblewrap_sandbox) {
    scratch_dir const dir;
    asio::io_context context; // run by this thread, which takes signals
    basic_executor<socketpair_transport, TestType, deny_approval> box(context.get_executor(), options_in(dir.path()));
    auto const started = [&] {
        auto start = box.async_start(asio::use_future);
        context.restart();
        while (start.wait_for(0s) != std::future_status::ready) context.run_one_for(100ms);
        return start.get();
    };
    deadly_file_size_signal const signal;
    {
        lower_limit const files(RLIMIT_FSIZE, 0);
        auto const r = started();
        REQUIRE_FALSE(r);
        CHECK_THAT(r.error().text(), Contains("no more than 0 bytes to a file (RLIMIT_FSIZE, `ulimit -f`); raise"));
        CHECK_THAT(r.error().text(), !Contains("--sandbox none"));
    }
    CHECK(started());
}

TEST_CASE("code whose image the host may not save runs on, and is told why", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("1") == "1");
    deadly_file_size_signal const signal;
    lower_limit const files(RLIMIT_FSIZE, 0);
    auto const r = box->execute("from IPython.display import Image, display\n"
                                "display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(100), format='png'))\nprint('on')");
    REQUIRE_FALSE(r);
    CHECK_THAT(r.error().text(), Contains("RLIMIT_FSIZE"));
    REQUIRE(r.error().output());
    CHECK_THAT(r.error().output()->text, Contains("on"));
}
