// prints: job 1 printed: step 1
// prints: job 1: 3 steps
// prints: job 2 was cancelled
// prints: job 3: 6

#include <ipybox/execution.hpp>
#include <ipybox/executor.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

int main() {
    ipybox::executor box;

    //! [submit]
    // Returns at once. The code goes on, also when nothing waits for it.
    ipybox::job const steps = box.submit(R"(
import time
for step in range(1, 4):
    print("step", step)
    time.sleep(.2)
)");
    ipybox::job const endless = box.submit("while True: pass");
    ipybox::job const sum = box.submit("1 + 2 + 3");
    //! [submit]

    //! [output]
    // Each turn waits a little, and takes what was printed since the last one.
    std::string text;
    std::uint64_t position = 0;
    for (bool ended = false; !ended;) {
        ended = steps.wait(50ms);
        ipybox::job::output_part const more = steps.output(position);
        position = more.to;
        text += more.text;
    }
    //! [output]
    std::cout << "job " << steps.id() << " printed: " << text.substr(0, text.find('\n')) << '\n';

    //! [result]
    endless.cancel(); // this one alone: those that wait behind it run
    if (!sum.wait(60s)) return 1;
    ipybox::result<ipybox::execution_result> const result = sum.result();
    if (!result) {
        std::cerr << result.error() << '\n';
        return 1;
    }
    //! [result]
    auto const lines = steps.result();
    if (!lines) {
        std::cerr << lines.error() << '\n';
        return 1;
    }
    std::cout << "job 1: " << lines->text.back() << " steps\n";
    if (auto const stopped = endless.result(); !stopped && stopped.error() == ipybox::condition::cancelled)
        std::cout << "job " << endless.id() << " was cancelled\n";
    std::cout << "job " << sum.id() << ": " << result->text << '\n';
}
