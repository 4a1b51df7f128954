// A host that has little memory left, or a process that may not have more of something: what fails, and what goes on.

#include <ipybox/ipybox.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

/// While there is one, this process gets no more memory than it has now and so much more. Kernels that run already are
/// not concerned.
class little_memory {
  public:
    explicit little_memory(std::size_t more) {
        std::ifstream statm("/proc/self/statm");
        std::size_t pages = 0;
        statm >> pages;
        ::getrlimit(RLIMIT_AS, &before_);
        auto limit = before_;
        limit.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
        ::setrlimit(RLIMIT_AS, &limit);
    }
    little_memory(little_memory const&) = delete;
    little_memory& operator=(little_memory const&) = delete;
    ~little_memory() { ::setrlimit(RLIMIT_AS, &before_); }

  private:
    rlimit before_{};
};

result<execution_result> run_with_little_memory(kernel_box<>& box, std::string code) {
    little_memory const limited(std::size_t(32) << 20);
    return box->execute(std::move(code), {.timeout = 60s});
}

} // namespace

TEST_CASE("a message for which the host has no memory ends its kernel and its call", "[kernel]") {
    kernel_box<> box;
    REQUIRE(box.run("1") == "1");
    auto const r = run_with_little_memory(
        box, "import time\nfor i in range(8): display({'text/html': 'x' * 25_000_000}, raw=True)\ntime.sleep(600)");
    REQUIRE_FALSE(r);
    CHECK(r.error() == errc::kernel_died);
    CHECK_THAT(r.error().text(), Contains("could not be taken"));
    REQUIRE(box->reset());
    CHECK(box.run("2") == "2");
}

TEST_CASE("an action for which the host has no memory ends the action channel, and the cell goes on", "[kernel]") {
    kernel_box<> box;
    auto const ask = R"(
import ipybox_kernel.actions as actions
def ended():
    head, body = b'{"op":"call","id":1,"cell":"","server":"s","tool":"t"}', b'{ "a":"' + b"x" * 60_000_000
    body += rb'","b":"\u0000"}' # which is copied for its blank, and built for its NUL
    frame = (4 + len(head) + len(body)).to_bytes(4, "little") + len(head).to_bytes(4, "little") + head + body
    try:
        actions.current.socket.sendall(frame)
        return actions.current.socket.recv(1) == b""
    except OSError:
        return True
)";
    REQUIRE(box.run(ask) == "");
    CHECK(text_of(run_with_little_memory(box, "ended()")) == "True");
    CHECK(box.run("1") == "1");
}

TEST_CASE("executors for which no thread can be made throw, and the others go on", "[kernel]") {
    scratch_dir dir;
    kernel_box<> before;
    REQUIRE(before.run("1") == "1");
    {
        little_memory const none(std::size_t(1)
                                 << 20); // a thread's stack takes more, and stacks that are kept for reuse are few
        std::vector<std::unique_ptr<executor>> many;
        auto const make = [&] {
            many.push_back(std::make_unique<executor>(options_in(dir.path()), any_approval(), unsandboxed));
        };
        CHECK_THROWS_AS(
            [&] {
                for (int i = 0; i < 100; ++i) make();
            }(),
            std::system_error);
    }
    CHECK(before.run("2") == "2");
    kernel_box<> after;
    CHECK(after.run("3") == "3");
}
