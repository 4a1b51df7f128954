#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/datagram.hpp>

#include <support/catch.hpp>
#include <support/coroutines.hpp>
#include <support/python.hpp>

#include <asio/io_context.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

using namespace ipybox;
using namespace std::chrono_literals;

namespace {

/// Says that it is ready, and refuses whatever it is asked for.
constexpr char const* refusing = R"(
import json, socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
kind, errno = sys.argv[2:]
control.recv(1 << 17)
ready = {"event": "ready", "executable": "x", "python": "3", "ipykernel": "7", "ipython": "9", "level": "lean"}
control.send(json.dumps(ready).encode())
while asked := control.recv(1 << 17):
    why = {"kind": kind, "text": "seccomp is missing here", "errno": int(errno)}
    control.send(json.dumps({"id": json.loads(asked)["id"], "error": why}).encode())
)";

/// What becomes of a kernel that is refused so.
error refused(std::string const& kind, std::string const& number) {
    asio::io_context context;
    supervisor_options options;
    options.python = test::python();
    options.working_dir = std::filesystem::temp_directory_path();
    options.wrap = [&](launch_spec spec) -> result<launch_spec> {
        spec.argv = {test::python().string(), "-c", refusing, std::to_string(spec.control_fd), kind, number};
        return spec;
    };
    supervisor scripted(context.get_executor(), std::move(options));
    auto pair = os::make_stream_pair(1 << 16);
    REQUIRE(pair);
    kernel_launch launch;
    launch.working_dir = std::filesystem::temp_directory_path();
    launch.guard = kernel_guard::no_exec;
    auto const forked = test::run(context, scripted.fork(std::move(launch), std::move(pair->theirs)));
    REQUIRE_FALSE(forked);
    return forked.error();
}

/// Why a supervisor that is started so does not become ready.
error not_ready(std::filesystem::path const& python, std::vector<std::string> const& in_front) {
    asio::io_context context;
    supervisor_options options;
    options.python = python;
    options.working_dir = std::filesystem::temp_directory_path();
    options.wrap = [&](launch_spec spec) -> result<launch_spec> {
        spec.argv.insert(spec.argv.begin(), in_front.begin(), in_front.end());
        return spec;
    };
    supervisor asked(context.get_executor(), std::move(options));
    auto const ready = test::run(context, asked.ready(20s));
    REQUIRE_FALSE(ready);
    return ready.error();
}

} // namespace

TEST_CASE("supervisor: a sandbox whose command fails is named, and not only the interpreter") {
    auto const text = not_ready(test::python(), {"/bin/false"}).text();
    INFO(text);
    CHECK(text.find("does the sandbox's command /bin/false start the program behind it") != std::string::npos);
    CHECK(not_ready("/bin/true", {}).text().find("it said nothing: is /bin/true a Python interpreter?") !=
          std::string::npos);
    CHECK(not_ready("/bin/true", {}) == errc::kernel_start_failed);
}

TEST_CASE("supervisor: why it refuses a kernel") {
    auto const guard = refused("guard", "38");
    CHECK(guard == errc::guard_unavailable);
    CHECK(guard.text().starts_with("seccomp is missing here"));
    CHECK(refused("cwd", "2") == errc::invalid_argument);
    CHECK(refused("fork", "11") == errc::kernel_start_failed);
}
