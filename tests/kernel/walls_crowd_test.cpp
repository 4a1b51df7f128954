#include <asio/use_future.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/eventually.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/holdings.hpp"
#include "support/kernel_box.hpp"

/** \file
 * Many kernels within walls at once.
 */

namespace {

using namespace ipybox;
using namespace ipybox::test;

constexpr std::size_t crowd = 100;

using text_future = std::future<result<execution_result>>;

std::unique_ptr<executor> member(scratch_dir const& dir, std::size_t number, runtime const& shared) {
    executor_options options;
    options.working_dir = dir.path() / ("of" + std::to_string(number));
    std::filesystem::create_directories(options.working_dir);
    return std::make_unique<executor>(options, deny_approval{}, shared);
}

/// Bytes that processes take, each with its part of what they share.
std::size_t memory_of(std::set<int> const& processes) {
    std::size_t kib = 0;
    for (int const process : processes) {
        std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
        for (std::string name, line; file >> name && std::getline(file, line);)
            if (name == "Pss:") kib += std::stoul(line);
    }
    return kib * 1024;
}

std::size_t descriptors_of(int process) {
    std::error_code gone;
    std::filesystem::directory_iterator entries("/proc/" + std::to_string(process) + "/fd", gone);
    return gone ? 0 : static_cast<std::size_t>(std::distance(entries, std::filesystem::directory_iterator()));
}

/// The process that has most descriptors: of a runtime in use, the supervisor.
std::size_t most_descriptors(std::set<int> const& processes) {
    std::size_t most = 0;
    for (int const process : processes) most = std::max(most, descriptors_of(process));
    return most;
}

std::string seconds_since(std::chrono::steady_clock::time_point begin) {
    std::ostringstream text;
    text << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return text.str();
}

} // namespace

TEST_CASE("walls: 100 executors share a runtime, and leave nothing", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    auto const before_all = descendants();
    {
        runtime const shared({.working_dir = dir.path(), .kernel = {.python = python()}});
        { // what the first kernel brings along, and the room for the next one
            auto const first = member(dir, 0, shared);
            CHECK(text_of(first->execute("1")) == "1");
            CHECK(eventually([&] { return descendants().size() == before_all.size() + 5; }));
        }
        CHECK(eventually([&] { return descendants().size() == before_all.size() + 3; }));
        auto const processes = descendants();
        auto const supervisor_holds = most_descriptors(processes);
        holdings const before;

        auto const begin = std::chrono::steady_clock::now();
        std::vector<std::unique_ptr<executor>> boxes;
        std::vector<text_future> cells;
        for (std::size_t i = 0; i < crowd; ++i) {
            boxes.push_back(member(dir, i, shared));
            cells.push_back(boxes.back()->async_execute("x = " + std::to_string(i) + "\nopen('mine', 'w').write('.')",
                                                        {}, asio::use_future));
        }
        for (auto& cell : cells) REQUIRE(cell.get());
        auto const started = seconds_since(begin);
        cells.clear();
        for (auto const& box : boxes)
            cells.push_back(box->async_execute("import os\nprint(x, os.getcwd(), os.listdir('..'), os.getpid())", {},
                                               asio::use_future));
        for (std::size_t i = 0; i < crowd; ++i) {
            auto const name = "of" + std::to_string(i);
            CHECK(text_of(cells[i].get()) ==
                  std::to_string(i) + " " + (dir.path() / name).string() + " ['" + name + "'] 2");
        }
        auto const memory = memory_of(descendants());
        INFO(crowd << " walled kernels: " << started << " s to their first output");
        CHECK(memory / crowd < 12 << 20); // each with its part of the supervisor's

        // Half of them, and one that replaces another; the others go on.
        for (std::size_t i = 0; i < crowd; i += 2) boxes[i].reset();
        REQUIRE(boxes[1]->reset());
        CHECK(text_of(boxes[3]->execute("x")) == "3");
        CHECK(eventually([&] { return descendants().size() == processes.size() + crowd; })); // a room and a kernel each
        boxes.clear();
        CHECK(eventually([&] { return descendants().size() == processes.size(); }));
        CHECK(eventually([&] { return holdings() == before; }));
        CHECK(eventually([&] { return most_descriptors(descendants()) == supervisor_holds; }));
        // And it works as before.
        CHECK(text_of(member(dir, 1, shared)->execute("open('mine').read()")) == "'.'");
    }
    CHECK(eventually([&] { return descendants() == before_all; }));
    for (std::size_t i = 0; i < crowd; ++i) {
        auto const own = dir.path() / ("of" + std::to_string(i));
        CHECK(entries_of(own.c_str()) == 1); // what the code has written
    }
}
