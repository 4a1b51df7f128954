#include <chrono>
#include <csignal>
#include <string>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

constexpr std::uint64_t mib = 1024 * 1024;

/// The text of a cell, or the name of the error that ended it.
template <class Box>
std::string outcome(Box& box, std::string const& code) {
    return box.run("try: " + code + "\nexcept Exception as error: print(type(error).__name__)");
}

} // namespace

TEMPLATE_TEST_CASE("limits: what the code cannot have is an error of the code, and the kernel goes on", "[kernel]",
                   no_sandbox, bubblewrap_sandbox) {
    kernel_box<socketpair_transport, TestType> box([](executor_options& options) {
        options.limits.memory = 800 * mib;
        options.limits.file_size = 10 * mib;
        options.limits.open_files = 200;
    });
    CHECK(outcome(box, "bytearray(1 << 31)") == "MemoryError");
    CHECK(outcome(box, "open('big', 'wb').write(bytes(11 << 20))") == "OSError");
    CHECK(outcome(box, "files = [open('/dev/null') for _ in range(300)]") == "OSError");
    CHECK(outcome(box, "print(len(bytearray(100 << 20)))") == "104857600");
}

TEST_CASE("limits: a kernel that has used its processor time is dead, and the error says why", "[kernel]") {
    kernel_box<> box([](executor_options& options) { options.limits.cpu_time = 1s; });
    auto const ended = box->execute("while True: pass");
    REQUIRE_FALSE(ended);
    CHECK(ended.error() == errc::kernel_died);
    CHECK(ended.error().status().signal == SIGXCPU);
    CHECK_THAT(ended.error().text(), Contains("it has used the processor time that its limits give"));
    REQUIRE(box->reset());
    CHECK(box.run("1") == "1");
}

TEST_CASE("limits: by default no more memory than the machine has", "[kernel]") {
    kernel_box<> box;
    auto const machine = std::to_string(sandbox_limits().memory.value());
    CHECK(box.run("import resource\nresource.getrlimit(resource.RLIMIT_DATA) == (" + machine + ", " + machine + ")") ==
          "True");
    CHECK(box.run("resource.getrlimit(resource.RLIMIT_CORE)") == "(0, 0)");
}

TEST_CASE("limits: none of them leaves what the application itself may take", "[kernel]") {
    kernel_box<> box([](executor_options& options) {
        options.limits = {.memory = {}, .processes = {}, .cpu_time = {}, .file_size = {}, .open_files = {}};
    });
    CHECK(box.run("import resource\nresource.getrlimit(resource.RLIMIT_DATA) == (-1, -1)") == "True");
}

TEST_CASE("limits: executors of a runtime have its limits", "[kernel]") {
    scratch_dir const dir;
    auto options = options_in(dir.path());
    runtime_options shared{.working_dir = dir.path(), .python = python()};
    shared.limits.memory = 800 * mib;
    executor box(options, any_approval(deny_approval{}), runtime(shared, unsandboxed));
    CHECK(text_of(box.execute("import resource\nresource.getrlimit(resource.RLIMIT_DATA)[0]")) ==
          std::to_string(800 * mib));
}
