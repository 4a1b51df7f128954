#include <ipybox/os/process.hpp>

#include <support/catch.hpp>
#include <support/scratch_dir.hpp>

#include <cli/orphans.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

using ipybox::cli::parent_of;

TEST_CASE("The parent of a process is known, whatever its name is") {
    ipybox::test::scratch_dir const dir;
    dir.write("stat", "7 (a) S 1 (b)) S 42 7 7 0");
    CHECK(parent_of(dir.path()) == 42);
    CHECK(parent_of("/proc/self") == ::getppid());
}

TEST_CASE("A process that ends while its parent is looked up has none") {
    ipybox::test::scratch_dir const dir;
    CHECK(parent_of(dir.path()) == 0);
    // A directory can be opened, and reading it fails, as it does for such a process.
    std::filesystem::create_directory(dir.path() / "stat");
    CHECK(parent_of(dir.path()) == 0);
}

TEST_CASE("Processes that a thread starts anew when others are killed end with the program") {
    using namespace std::chrono_literals;
    // another process: what ends there starts none any more
    pid_t const program = ::fork();
    if (program == 0) {
        ipybox::cli::orphans const left_behind;
        std::atomic<int> started = 0;
        std::atomic<bool> refused = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                while (true) {
                    auto child = ipybox::os::start_process({{"/bin/sleep", "1000"}, {}, "/"}, {});
                    child ? ++started : refused = true;
                    if (child) (void)child->wait(1h);
                    if (!child) std::this_thread::sleep_for(1ms);
                }
            });
        while (started < 4) std::this_thread::sleep_for(1ms);
        left_behind.end();
        while (!refused) std::this_thread::sleep_for(1ms);
        bool const alone = ::waitpid(-1, nullptr, WNOHANG) < 0;
        std::thread([] {}).join(); // threads are no processes
        ::_exit(alone ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(program, &status, 0) == program);
    CHECK(status == 0);
}
