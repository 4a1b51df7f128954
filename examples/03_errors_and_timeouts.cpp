// prints: ZeroDivisionError: division by zero
// prints: before it failed: halfway
// prints: stopped after 0.5 s: tick
// prints: still here: 42
// prints: the kernel died: exit code 3
// prints: a fresh kernel answers

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <chrono>
#include <iostream>

int main() {
    using namespace std::chrono_literals;

    ipybox::executor box;
    if (auto started = box.start(); !started) {
        // condition::cannot_start: no interpreter, no ipykernel, no sandbox. The text says which, and how to get it.
        std::cerr << started.error() << '\n';
        return 1;
    }

    //! [exception]
    // An exception in the code is an error with the exception in it, and with all output until then.
    auto result = box.execute("print('halfway'); 1 / 0");
    if (!result && result.error().exception()) {
        auto const& exception = *result.error().exception();
        std::cout << exception.ename << ": " << exception.evalue << '\n';
        std::cout << "before it failed: " << result.error().output()->text << '\n';
    }
    //! [exception]

    //! [timeout]
    // The budget is part of the call. Code that exceeds it is interrupted; the session lives on.
    (void)box.execute("answer = 42");
    result = box.execute("import time\nprint('tick')\ntime.sleep(60)", {.timeout = 500ms});
    if (!result && result.error() == ipybox::condition::timeout)
        std::cout << "stopped after 0.5 s: " << result.error().output()->text << '\n';

    if (auto after = box.execute("answer")) std::cout << "still here: " << after->text << '\n';
    //! [timeout]

    //! [death]
    // The death of a kernel is noticed at once, whatever killed it. `reset` starts a fresh one within milliseconds.
    result = box.execute("import os\nos._exit(3)");
    if (!result && result.error() == ipybox::errc::kernel_died)
        std::cout << "the kernel died: " << to_string(result.error().status()) << '\n';

    if (box.reset() && box.execute("1 + 1")) std::cout << "a fresh kernel answers\n";
    //! [death]
}
