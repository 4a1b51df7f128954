// Measures the library through its public API: the metrics of bench_original.py, under the same names.

#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ours/context.hpp>
#include <ours/scratch_directory.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>

namespace {

struct arguments {
    std::filesystem::path json;
    int repeat = 10;
    std::vector<std::string> only{"*"};
    std::string sandbox = "none";
    bench::places where;
    bool list = false;
};

arguments parse(int argc, char** argv) {
    arguments given;
    CLI::App app("Measures ipybox through its public API");
    app.add_option("--json", given.json, "write the samples here");
    app.add_option("--repeat", given.repeat, "repetitions of slow operations")->capture_default_str();
    app.add_option("--only", given.only, "metrics to measure; wildcards allowed")->delimiter(',');
    app.add_option("--sandbox", given.sandbox)
        ->check(CLI::IsMember({"none", "bubblewrap", "srt"}))
        ->capture_default_str();
    app.add_option("--benchmarks", given.where.benchmarks, "directory with cells/ and servers/")->required();
    app.add_option("--server-python", given.where.server_python, "interpreter of the MCP servers")->required();
    app.add_option("--filesystem-server", given.where.filesystem_server, "script of that server")->required();
    app.add_flag("--list", given.list, "list the metrics and stop");
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) { std::exit(app.exit(error)); }
    return given;
}

std::vector<bench::measurement> all_measurements() {
    std::vector<bench::measurement> all;
    for (auto const part : {bench::life_cycle_measurements, bench::memory_measurements, bench::cell_measurements,
                            bench::output_measurements, bench::interruption_measurements, bench::tool_measurements,
                            bench::generation_measurements, bench::request_measurements}) {
        std::ranges::move(part(), std::back_inserter(all));
    }
    return all;
}

/// A measurement that fails leaves its metrics without samples, and the reason.
void run(bench::measurement const& measurement, bench::context& context) {
    try {
        measurement.run(context);
    } catch (std::exception const& error) {
        for (auto const& name : measurement.names) {
            if (!context.metrics.contains(name)) context.record(name, "", {}, std::string("failed: ") + error.what());
        }
    }
}

void show(std::string const& name, bench::metric const& metric) {
    auto sorted = metric.samples;
    std::ranges::sort(sorted);
    std::cout << std::left << std::setw(30) << name;
    if (!sorted.empty())
        std::cout << sorted[sorted.size() / 2] << ' ' << metric.unit << " (n=" << sorted.size() << ") ";
    std::cout << ' ' << metric.note << std::endl;
}

nlohmann::json to_json(std::map<std::string, bench::metric> const& metrics) {
    auto document = nlohmann::json::object();
    for (auto const& [name, metric] : metrics) {
        document[name] = {{"unit", metric.unit}, {"samples", metric.samples}, {"note", metric.note}};
    }
    return document;
}

} // namespace

int main(int argc, char** argv) {
    auto const given = parse(argc, argv);
    auto const json = given.json.empty() ? given.json : std::filesystem::absolute(given.json);
    bench::context context{
        .repeat = given.repeat,
        .sandbox_name = given.sandbox,
        .sandbox = ipybox::bubblewrap_sandbox{},
        .where = given.where,
        .patterns = given.only,
    };
    context.where.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (given.sandbox == "none") context.sandbox = ipybox::no_sandbox{};
    if (given.sandbox == "srt") context.sandbox = ipybox::srt_sandbox{};

    bench::scratch_directory const here;
    for (auto const& measurement : all_measurements()) {
        if (std::ranges::none_of(measurement.names, [&](auto const& name) { return context.wants(name); })) continue;
        if (!given.list) run(measurement, context);
        for (auto const& name : measurement.names) {
            if (given.list) std::cout << name << '\n';
            if (context.metrics.contains(name)) show(name, context.metrics[name]);
        }
    }
    if (!json.empty()) std::ofstream(json) << to_json(context.metrics).dump() << '\n';
}
