#pragma once

#include <ipybox/executor.hpp>
#include <ipybox/mcp/server_params.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
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

/// What is on the disk.
struct places {
    std::filesystem::path programs;          ///< directory of `first_result` and `first_tool_call`
    std::filesystem::path benchmarks;        ///< with `cells/` and `servers/`
    std::filesystem::path server_python;     ///< an interpreter that has the library of the protocol, for the servers
    std::filesystem::path filesystem_server; ///< its script
};

/// What a measurement needs to know, and where it leaves its figures.
struct context {
    int repeat;
    std::string sandbox_name;
    ipybox::any_sandbox sandbox;
    places where;
    std::vector<std::string> patterns; ///< of the metrics to measure
    std::map<std::string, metric> metrics = {};

    void record(std::string const& name, std::string unit, std::vector<double> samples, std::string note = {}) {
        metrics[name] = {std::move(unit), std::move(samples), std::move(note)};
    }

    [[nodiscard]] bool wants(std::string const& name) const;

    /// How often something is done that takes `share` times as long as other slow things; at least once.
    [[nodiscard]] int repeat_over(int share) const { return repeat < share ? 1 : repeat / share; }

    [[nodiscard]] ipybox::executor new_executor(ipybox::any_approval approval = {},
                                                ipybox::executor_options options = {}) const {
        return ipybox::executor(std::move(options), std::move(approval), sandbox);
    }

    [[nodiscard]] ipybox::executor started_executor(ipybox::any_approval approval = {},
                                                    ipybox::executor_options options = {}) const;

    /// The text of `cells/FILE`.
    [[nodiscard]] std::string cell(std::string const& file) const;

    /// The command line of `servers/FILE`.
    [[nodiscard]] std::vector<std::string> server_command(std::string const& file) const;

    [[nodiscard]] ipybox::mcp::server_params server(std::string const& file) const;
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
std::vector<measurement> tool_measurements();
std::vector<measurement> generation_measurements();
std::vector<measurement> request_measurements();

inline double milliseconds_since(clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(clock::now() - begin).count();
}

template <class Action>
double milliseconds(Action&& action) {
    auto const begin = clock::now();
    std::forward<Action>(action)();
    return milliseconds_since(begin);
}

[[noreturn]] void fail(ipybox::error const& why);

/// Throws when the operation failed, so that no failure is measured as a success.
template <class T>
T require(ipybox::result<T> done) {
    if (!done) fail(done.error());
    if constexpr (!std::is_void_v<T>) return std::move(*done);
}

/// Runs a cell that leaves its samples in a file.
std::vector<double> samples_of(ipybox::executor& box, std::string const& cell);

/// Of at least one sample.
double median(std::vector<double> samples);

/// Accepts what it is asked for, at once.
inline constexpr auto accept = [](ipybox::approval_request const& request) { request.accept(); };

/// A server that is started by a command line.
ipybox::mcp::server_params server_of(std::vector<std::string> const& command);

/// "ok", or the error in a line.
std::string outcome(ipybox::result<ipybox::execution_result> const& done);

} // namespace bench
