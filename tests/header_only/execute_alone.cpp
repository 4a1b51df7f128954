#include <ipybox/executor.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

// A program of headers alone that includes what `execute` needs and no service: nothing is compiled of those, code runs
// all the same, and options that need one say which header to include.

namespace {

using namespace ipybox;

int failures = 0;

void check(bool right, std::string_view what) {
    if (!right) std::printf("wrong: %s\n", std::string(what).c_str());
    failures += right ? 0 : 1;
}

/// Whether the kernel does not start, as the program lacks a header.
void check_refused(std::string_view option, std::string_view header, executor_options options,
                   any_approval policy = {}) {
    auto const started = executor(std::move(options), std::move(policy)).start();
    auto const wanted = std::string(option).append(" needs <ipybox/").append(header).append(">");
    check(!started && started.error() == errc::invalid_argument && started.error().text().starts_with(wanted), option);
}

std::string text_of(result<execution_result> const& ran) { return ran ? ran->text : ran.error().text(); }

void check_cells() {
    executor box;
    check(text_of(box.execute("print(6 * 7)")) == "42", "a cell");
    check(text_of(box.execute("!echo $((6 * 7))")) == "42", "a shell command, which the sandbox holds");
    check(text_of(box.execute("x = !echo 42\nprint(x)")) == "['42']", "a shell command whose output is taken");
    check(bool(box.execute("y = [1]")) && box.get("y")->text() == "[1]", "a value");
    auto const asked = box.execute("from ipybox_kernel import tools\ntools.ToolRunner('s').run_sync('t', {})");
    check(!asked && asked.error() == errc::python_error, "a tool cannot be asked for");
    check(bool(box.reset()), "reset");
    check(!box.execute("x"), "a fresh kernel");
    check(bool(box.stop()), "stop");
}

} // namespace

int main() {
    check_cells();
    check_refused("approval.shell_cmds", "approval.hpp", {.approval = {.shell_cmds = true}});
    check_refused("approval.require_shell_escape", "approval.hpp", {.approval = {.require_shell_escape = true}});
    check_refused("approval.calls_per_cell", "approval.hpp", {.approval = {.calls_per_cell = 1}});
    check_refused("an approval policy", "approval.hpp", {}, auto_approval());
    std::printf("%s\n", failures == 0 ? "right" : "wrong");
    return failures;
}
