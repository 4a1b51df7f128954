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

sizes sizes_with(context const& context, int kernels) {
    child_program const program(context.first_result, {context.sandbox_name, std::to_string(kernels)});
    (void)program.line();
    auto const tree = process_tree(program.pid());
    sizes sum;
    for (auto const& process : tree) {
        auto& part = process.pid == program.pid() ? sum.host : is_kernel(process, tree) ? sum.kernel : sum.supervisor;
        part += pss(process.pid);
    }
    return sum;
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

} // namespace

std::vector<measurement> memory_measurements() {
    return {{{"pss_host", "pss_supervisor", "pss_kernel", "pss_tree"}, one_kernel},
            {{"pss_per_kernel_1", "pss_per_kernel_10", "pss_per_kernel_50"}, many_kernels}};
}

} // namespace bench
