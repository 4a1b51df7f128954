// prints: 3 of 3: step 3
// prints: the function was told to stop

#include <ipybox/ipybox.hpp>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

using namespace std::chrono_literals;

int main() {
    std::filesystem::path const dir = "build/examples/host_progress";
    std::filesystem::create_directories(dir);
    ipybox::executor_options options;
    options.working_dir = dir;
    options.approval.tool_calls = false;
    std::promise<bool> ended;
    ipybox::executor box(options);

    //! [progress]
    // The last parameter is the call: it hears of progress, and of the end of those who wait.
    auto const in_steps = [&](int steps, ipybox::tool_context call) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any pause;
        for (int done = 0; done < steps && !call.stop_requested(); ++done) {
            pause.wait_for(lock, call.stop_token(), 50ms, [] { return false; });
            call.progress(done + 1, steps, "step " + std::to_string(done + 1));
        }
        if (call.stop_requested()) ended.set_value(true);
        return std::string("done");
    };
    ipybox::host_tool work("work", "Works for so many steps", {"steps"}, in_steps);
    //! [progress]
    auto added = box.add_tool(std::move(work));
    if (added) {
        auto const made = box.generate_mcp_sources("host", dir / "mcptools");
        if (!made) added = ipybox::failure(made.error());
    }
    if (!added) {
        std::cerr << added.error() << '\n';
        return 1;
    }

    //! [listen]
    auto result = box.execute(R"(
import mcptools
from mcptools.host import work

reports = []
with mcptools.progress(reports.append):
    work.run(steps=3)
print(reports[-1])
)");
    //! [listen]
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    std::cout << result->text << '\n';

    //! [cancel]
    // A cell that is cancelled, or exceeds its time, tells the function. What it returns then is ignored.
    result = box.execute("work.run(steps=1000)", {.timeout = 300ms});
    auto stopped = ended.get_future();
    if (!result && stopped.wait_for(10s) == std::future_status::ready) std::cout << "the function was told to stop\n";
    //! [cancel]
    return result ? 1 : 0;
}
