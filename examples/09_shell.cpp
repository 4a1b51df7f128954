// prints: shell command /bin/sh -c 'wc -l < table.csv' (in
// prints: lines: 2
// prints: exit code: 3
// prints: subprocess: PermissionError
// prints: bash sees: three,four

#include <ipybox/ipybox.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

/// What the code printed, or the class of its exception.
std::string outcome(ipybox::result<ipybox::execution_result> const& result) {
    if (result) return result->text;
    return result.error().exception() ? result.error().exception()->ename : result.error().text();
}

} // namespace

int main() {
    std::filesystem::path const dir = "build/examples/shell";
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "table.csv") << "one,two\nthree,four\n";

    //! [shell]
    ipybox::executor_options options;
    options.working_dir = dir;
    // Shell commands are asked for, and are the only way to start a program: the system keeps the code from every other
    // one.
    options.approval.shell_cmds = true;
    options.approval.require_shell_escape = true;
    auto const decide = [](ipybox::approval_request request) {
        // Exactly what will be run: the command after expansion, its directory, the variables that differ.
        std::cout << request << '\n';
        request.accept();
    };
    ipybox::executor box(options, decide);

    auto result = box.execute(R"(
name = "table.csv"
counted = !wc -l < {name}
print("lines:", counted[0])

!exit 3
print("exit code:", _exit_code)
)");
    //! [shell]
    std::cout << outcome(result) << '\n';

    result = box.execute("import subprocess\nsubprocess.run(['tail', '-1', 'table.csv'])");
    std::cout << "subprocess: " << outcome(result) << '\n';

    std::cout << outcome(box.execute("%%bash\necho \"bash sees: $(tail -1 table.csv)\"")) << '\n';
}
