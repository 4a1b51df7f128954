#include <ipybox/execution/execution_result.hpp>

#include <nlohmann/json.hpp>
#include <ours/context.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace bench {
namespace {

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

} // namespace

bool context::wants(std::string const& name) const {
    return std::ranges::any_of(patterns, [&](auto const& p) { return ::fnmatch(p.c_str(), name.c_str(), 0) == 0; });
}

ipybox::executor context::started_executor(ipybox::any_approval approval, ipybox::executor_options options) const {
    auto box = new_executor(std::move(approval), std::move(options));
    require(box.start());
    return box;
}

std::string context::cell(std::string const& file) const {
    std::ifstream text(where.benchmarks / "cells" / file);
    if (!text) throw std::runtime_error("there is no cell " + file);
    return {std::istreambuf_iterator<char>(text), {}};
}

std::vector<std::string> context::server_command(std::string const& file) const {
    return {where.server_python.string(), (where.benchmarks / "servers" / file).string()};
}

ipybox::mcp::server_params context::server(std::string const& file) const { return server_of(server_command(file)); }

ipybox::mcp::server_params server_of(std::vector<std::string> const& command) {
    ipybox::mcp::server_params params;
    params.command = command.front();
    params.args.assign(command.begin() + 1, command.end());
    return params;
}

void fail(ipybox::error const& why) { throw std::runtime_error(first_line(why.text())); }

std::vector<double> samples_of(ipybox::executor& box, std::string const& cell) {
    std::filesystem::remove("samples");
    require(box.execute(cell));
    return nlohmann::json::parse(std::ifstream("samples"));
}

double median(std::vector<double> samples) {
    std::ranges::sort(samples);
    return samples[samples.size() / 2];
}

std::string outcome(ipybox::result<ipybox::execution_result> const& done) {
    return done ? "ok" : first_line(done.error().text());
}

} // namespace bench
