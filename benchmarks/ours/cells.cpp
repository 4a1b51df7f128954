// Small cells in a warm kernel.

#include <ours/context.hpp>

namespace bench {
namespace {

void small_cells(context& context) {
    std::map<std::string, std::string> const cells{
        {"execute_pass", "pass"}, {"execute_expr", "1+1"}, {"execute_print", "print(1)"}, {"execute_error", "1/0"}};
    auto box = context.started_executor();
    for (int i = 0; i < 5; ++i) {
        for (auto const& [name, cell] : cells) (void)box.execute(cell);
    }
    std::map<std::string, std::vector<double>> samples;
    for (int i = 0; i < 50 * context.repeat; ++i) {
        for (auto const& [name, cell] : cells) {
            samples[name].push_back(milliseconds([&] { (void)box.execute(cell); }));
        }
    }
    for (auto const& [name, cell] : cells) context.record(name, "ms", samples[name], cell);
}

void output_kept(context& context) {
    auto box = context.started_executor();
    std::vector<double> kept;
    for (int i = 0; i < 1800 * context.repeat; ++i) {
        auto const number = std::to_string(i);
        kept.push_back(require(box.execute("print(" + number + ")")).text == number ? 1 : 0);
    }
    context.record("output_kept", "share", kept, "calls of print(i) that returned with their output");
}

template <bool Asks>
void shell(context& context) {
    ipybox::executor_options options;
    options.approval.shell_cmds = Asks;
    auto box = context.started_executor(accept, options);
    if (Asks) context.record("shell_approval_first", "ms", {milliseconds([&] { require(box.execute("!true")); })});
    for (auto const& [name, cell] : {std::pair{"shell", "!true"}, std::pair{"shell_capture", "x = !echo hi"}}) {
        require(box.execute(cell));
        std::vector<double> samples;
        for (int i = 0; i < 15 * context.repeat; ++i) {
            samples.push_back(milliseconds([&] { require(box.execute(cell)); }));
        }
        context.record(std::string(name) + (Asks ? "_approval" : ""), "ms", samples, cell);
    }
}

} // namespace

std::vector<measurement> cell_measurements() {
    return {{{"execute_pass", "execute_expr", "execute_print", "execute_error"}, small_cells},
            {{"output_kept"}, output_kept},
            {{"shell", "shell_capture"}, shell<false>},
            {{"shell_approval_first", "shell_approval", "shell_capture_approval"}, shell<true>}};
}

} // namespace bench
