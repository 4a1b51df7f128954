// From nothing to the first result, and back.

#include <ipybox/runtime.hpp>

#include <ours/child_program.hpp>
#include <ours/context.hpp>

#include <optional>

namespace bench {
namespace {

void host_process(context& context) {
    std::vector<double> samples;
    for (int i = 0; i < 2 * context.repeat; ++i) {
        auto const begin = clock::now();
        child_program program(context.where.programs / "first_result", {context.sandbox_name});
        (void)program.line();
        samples.push_back(milliseconds_since(begin));
    }
    context.record("process_first_result", "ms", samples, "process start -> first 1+1");
}

void start_and_stop(context& context) {
    std::vector<double> start, first, stop;
    for (int i = 0; i < 2 * context.repeat; ++i) {
        auto box = context.new_executor();
        start.push_back(milliseconds([&] { require(box.start()); }));
        first.push_back(start.back() + milliseconds([&] { require(box.execute("1+1")); }));
        stop.push_back(milliseconds([&] { require(box.stop()); }));
    }
    context.record("start", "ms", start);
    context.record("start_first_result", "ms", first, "start + first 1+1");
    context.record("stop", "ms", stop);
}

void resets(context& context) {
    auto box = context.started_executor();
    std::vector<double> reset, first;
    for (int i = 0; i < 5 * context.repeat; ++i) {
        reset.push_back(milliseconds([&] { require(box.reset()); }));
        first.push_back(reset.back() + milliseconds([&] { require(box.execute("1+1")); }));
    }
    context.record("reset", "ms", reset);
    context.record("reset_first_result", "ms", first, "reset + first 1+1");
}

/// From an executor's construction to its first output, where its runtime has forked kernels before.
class forks {
  public:
    explicit forks(bool walls) : shared_({.walls = walls}, ipybox::bubblewrap_sandbox{}) {
        for (int i = 0; i < 3; ++i) (void)milliseconds_to_output();
    }
    double milliseconds_to_output() const {
        std::optional<ipybox::executor> box; // its end does not count
        return milliseconds([&] {
            box.emplace(ipybox::executor_options{}, ipybox::stream_reader_approval{}, shared_);
            require(box->execute("print(1)"));
        });
    }

  private:
    ipybox::runtime shared_;
};

void walled_forks(context& context) {
    forks const open(false), walled(true);
    std::vector<double> without, with, ratio;
    for (int i = 0; i < 10 * context.repeat; ++i) {
        without.push_back(open.milliseconds_to_output());
        with.push_back(walled.milliseconds_to_output());
    }
    context.record("fork_first_output", "ms", without,
                   "bubblewrap: a further executor of a runtime, to its first output");
    context.record("walled_fork_first_output", "ms", with, "the same with walls");
    context.record("walled_fork_ratio", "", {median(with) / median(without)});
}

} // namespace

std::vector<measurement> life_cycle_measurements() {
    return {{{"process_first_result"}, host_process},
            {{"start", "start_first_result", "stop"}, start_and_stop},
            {{"reset", "reset_first_result"}, resets},
            {{"fork_first_output", "walled_fork_first_output", "walled_fork_ratio"}, walled_forks}};
}

} // namespace bench
