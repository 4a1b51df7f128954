// Cells that are ended from outside, or end their kernel.

#include <ours/context.hpp>

#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using namespace std::chrono_literals;
using execution = ipybox::result<ipybox::execution_result>;

constexpr char const* stubborn_cell = R"py(
import time
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass
)py";

constexpr char const* witness_cell = R"py(
import asyncio, pathlib, time
try:
    await asyncio.sleep(8)
finally:
    pathlib.Path("stopped").write_text(str(time.time()))
)py";

/// Starts a cell on a thread of its own and gives it the time to get going.
std::future<execution> begin_cell(ipybox::executor& box, std::string const& cell) {
    auto running = std::async(std::launch::async, [&box, cell] { return box.execute(cell); });
    std::this_thread::sleep_for(300ms);
    return running;
}

/// cancel() to the return of execute().
double cancel(ipybox::executor& box, std::future<execution>& running) {
    auto const begin = clock::now();
    box.cancel();
    if (running.wait_for(cap) != std::future_status::ready) {
        require(box.stop());
        throw std::runtime_error("cancel() hangs");
    }
    auto const elapsed = milliseconds_since(begin);
    auto const ended = running.get();
    if (ended || !(ended.error() == ipybox::condition::cancelled)) throw std::runtime_error("not cancelled");
    return elapsed;
}

template <class Sample>
std::vector<double> repeated(int times, Sample sample) {
    std::vector<double> samples;
    for (int i = 0; i < times; ++i) samples.push_back(sample());
    return samples;
}

void cancel_cells(context& context) {
    auto box = context.started_executor();
    for (auto const& [name, cell] :
         {std::pair{"cancel_sleep", "import time; time.sleep(60)"}, std::pair{"cancel_loop", "while True: pass"},
          std::pair{"cancel_await", "import asyncio; await asyncio.sleep(60)"}}) {
        if (!context.wants(name)) continue;
        auto const samples = repeated(3 * context.repeat, [&] {
            auto running = begin_cell(box, cell);
            auto const elapsed = cancel(box, running);
            require(box.execute("pass"));
            return elapsed;
        });
        context.record(name, "ms", samples, "cancel() -> execute() returns");
    }
}

void cancel_await_stops(context& context) {
    auto box = context.started_executor();
    auto const samples = repeated(context.repeat, [&] {
        std::filesystem::remove("stopped");
        auto running = begin_cell(box, witness_cell);
        auto const begin = std::chrono::system_clock::now().time_since_epoch();
        cancel(box, running);
        double stopped = 0;
        if (!(std::ifstream("stopped") >> stopped)) throw std::runtime_error("the cell did not stop");
        return 1000 * (stopped - std::chrono::duration<double>(begin).count());
    });
    context.record("cancel_await_stops", "ms", samples, "cancel() -> cell, in a sleep of 8 s, ends");
}

void cancel_after_execute(context& context) {
    auto box = context.started_executor();
    auto const obeyed = repeated(context.repeat, [&] {
        require(box.execute("pass"));
        auto running = begin_cell(box, "import time; time.sleep(3)");
        return cancel(box, running) < 2000 ? 1.0 : 0.0;
    });
    context.record("cancel_after_execute", "share", obeyed, "cancel() calls obeyed when one execute() follows another");
}

void cancel_stubborn(context& context) {
    auto const samples = repeated(context.repeat_over(2), [&] {
        auto box = context.started_executor();
        auto running = begin_cell(box, stubborn_cell);
        return cancel(box, running) + milliseconds([&] { require(box.execute("1+1")); });
    });
    context.record("cancel_stubborn", "ms", samples, "the kernel is killed after a grace of 1 s");
}

void timeout(context& context) {
    auto const budget = 500ms;
    auto box = context.started_executor();
    auto const samples = repeated(3 * context.repeat, [&] {
        auto const begin = clock::now();
        auto const ended = box.execute("import time; time.sleep(60)", {.timeout = budget});
        auto const elapsed = milliseconds_since(begin);
        if (ended || !(ended.error() == ipybox::condition::timeout)) throw std::runtime_error("no timeout");
        return elapsed - static_cast<double>(budget.count());
    });
    context.record("timeout_excess", "ms", samples, "beyond a budget of 0.5 s");
}

void kernel_death(context& context) {
    std::string how;
    auto const samples = repeated(7 * context.repeat, [&] {
        auto box = context.started_executor();
        return milliseconds([&] { how = outcome(box.execute("import os; os._exit(1)")); });
    });
    context.record("kernel_death", "ms", samples, how);
}

} // namespace

std::vector<measurement> interruption_measurements() {
    return {{{"cancel_sleep", "cancel_loop", "cancel_await"}, cancel_cells},
            {{"cancel_await_stops"}, cancel_await_stops},
            {{"cancel_after_execute"}, cancel_after_execute},
            {{"cancel_stubborn"}, cancel_stubborn},
            {{"timeout_excess"}, timeout},
            {{"kernel_death"}, kernel_death}};
}

} // namespace bench
