// Proportional set sizes: what is shared counts once.

#include <ours/child_program.hpp>
#include <ours/context.hpp>
#include <ours/process_tree.hpp>

#include <algorithm>

namespace bench {
namespace {

struct sizes {
    double host = 0;
    double supervisor = 0; ///< the sandbox's own processes included
    double kernel = 0;

    [[nodiscard]] double tree() const { return host + supervisor + kernel; }
};

/// A kernel is a Python below a Python: it was forked by the supervisor.
bool is_kernel(process_entry const& process, std::vector<process_entry> const& tree) {
    auto const parent = std::ranges::find(tree, process.parent, &process_entry::pid);
    return process.name.starts_with("python") && parent != tree.end() && parent->name.starts_with("python");
}

/// What a program and its kernels take. MCP servers do not count.
sizes sizes_of(child_program const& program) {
    auto const tree = process_tree(program.pid());
    sizes sum;
    for (auto const& process : tree) {
        bool const is_server = command_line(process.pid).find("_server.py") != std::string::npos;
        if (is_server && process.pid != program.pid()) continue;
        auto& part = process.pid == program.pid() ? sum.host : is_kernel(process, tree) ? sum.kernel : sum.supervisor;
        part += pss(process.pid);
    }
    return sum;
}

sizes sizes_of_kernels(context const& context, std::vector<std::string> arguments) {
    child_program program(context.where.programs / "first_result", std::move(arguments));
    (void)program.line();
    return sizes_of(program);
}

sizes sizes_with(context const& context, int kernels) {
    return sizes_of_kernels(context, {context.sandbox_name, std::to_string(kernels)});
}

void one_kernel(context& context) {
    std::vector<double> host, supervisor, kernel, tree;
    for (int i = 0; i < context.repeat; ++i) {
        auto const found = sizes_with(context, 1);
        host.push_back(found.host);
        supervisor.push_back(found.supervisor);
        kernel.push_back(found.kernel);
        tree.push_back(found.tree());
    }
    context.record("pss_host", "MB", host);
    context.record("pss_supervisor", "MB", supervisor);
    context.record("pss_kernel", "MB", kernel);
    context.record("pss_tree", "MB", tree);
}

void many_kernels(context& context) {
    for (int const kernels : {1, 10, 50}) {
        auto const name = "pss_per_kernel_" + std::to_string(kernels);
        context.record(name, "MB", {sizes_with(context, kernels).tree() / kernels}, "the tree, divided by its kernels");
    }
}

void walled_kernels(context& context) {
    auto const open = sizes_of_kernels(context, {"bubblewrap", "10"}).tree() / 10;
    auto const walled = sizes_of_kernels(context, {"bubblewrap", "10", "walls"}).tree() / 10;
    context.record("pss_per_walled_kernel_10", "MB", {walled},
                   "the same in bubblewrap, with walls between the kernels");
    context.record("pss_per_walled_kernel_10_ratio", "", {walled / open}, "over the same without walls");
}

void one_tool_call(context& context) {
    std::vector<double> elapsed, host, supervisor, kernel, tree;
    for (int i = 0; i < context.repeat; ++i) {
        auto arguments = context.server_command("plain_echo_server.py");
        arguments.insert(arguments.begin(), context.sandbox_name);
        auto const begin = clock::now();
        child_program program(context.where.programs / "first_tool_call", std::move(arguments));
        (void)program.line();
        elapsed.push_back(milliseconds_since(begin));
        auto const found = sizes_of(program);
        host.push_back(found.host);
        supervisor.push_back(found.supervisor);
        kernel.push_back(found.kernel);
        tree.push_back(found.tree());
    }
    context.record("process_first_tool_call", "ms", elapsed, "process start -> package generated, imported and called");
    context.record("pss_tool_host", "MB", host, "after a tool call");
    context.record("pss_tool_supervisor", "MB", supervisor);
    context.record("pss_tool_kernel", "MB", kernel);
    context.record("pss_tool_tree", "MB", tree, "without the MCP server");
}

} // namespace

std::vector<measurement> memory_measurements() {
    return {{{"pss_host", "pss_supervisor", "pss_kernel", "pss_tree"}, one_kernel},
            {{"pss_per_kernel_1", "pss_per_kernel_10", "pss_per_kernel_50"}, many_kernels},
            {{"pss_per_walled_kernel_10", "pss_per_walled_kernel_10_ratio"}, walled_kernels},
            {{"process_first_tool_call", "pss_tool_host", "pss_tool_supervisor", "pss_tool_kernel", "pss_tool_tree"},
             one_tool_call}};
}

} // namespace bench
