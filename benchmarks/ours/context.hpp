#pragma once

#include <ipybox/executor.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

/// A call that takes longer counts as hanging.
inline constexpr auto cap = std::chrono::seconds(15);

struct metric {
    std::string unit;
    std::vector<double> samples;
    std::string note;
};

/// What a measurement needs to know, and where it leaves its figures.
struct context {
    int repeat;
    std::string sandbox_name;
    ipybox::any_sandbox sandbox;
    std::filesystem::path first_result; ///< the program of that name
    std::vector<std::string> patterns;  ///< of the metrics to measure
    std::map<std::string, metric> metrics = {};

    void record(std::string const& name, std::string unit, std::vector<double> samples, std::string note = {}) {
        metrics[name] = {std::move(unit), std::move(samples), std::move(note)};
    }

    [[nodiscard]] bool wants(std::string const& name) const;

    /// How often something is done that takes `share` times as long as other slow things; at least once.
    [[nodiscard]] int repeat_over(int share) const { return repeat < share ? 1 : repeat / share; }

    [[nodiscard]] ipybox::executor new_executor(ipybox::any_approval approval = {}) const {
        return ipybox::executor({}, std::move(approval), sandbox);
    }

    [[nodiscard]] ipybox::executor started_executor(ipybox::any_approval approval = {}) const;
};

/// A function that records the metrics of these names.
struct measurement {
    std::vector<std::string> names;
    void (*run)(context&);
};

std::vector<measurement> life_cycle_measurements();
std::vector<measurement> memory_measurements();
std::vector<measurement> cell_measurements();
std::vector<measurement> output_measurements();
std::vector<measurement> interruption_measurements();

inline double milliseconds_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

template <class Action>
double milliseconds(Action&& action) {
    auto const begin = clock::now();
    std::forward<Action>(action)();
    return milliseconds_since(begin);
}

/// Throws when the operation failed, so that no failure is measured as a success.
void require(ipybox::result<void> const& done);
ipybox::execution_result require(ipybox::result<ipybox::execution_result> done);

/// "ok", or the error in a line.
std::string outcome(ipybox::result<ipybox::execution_result> const& done);

} // namespace bench
