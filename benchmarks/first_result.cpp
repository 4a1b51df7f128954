// Starts kernels, runs 1+1 in each, prints one line, and keeps the kernels until its input ends.
//
// first_result none|bubblewrap|srt [KERNELS [walls]]

#include <ipybox/executor.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/srt_sandbox.hpp>

#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

ipybox::any_sandbox sandbox_named(std::string_view name) {
    if (name == "none") return ipybox::no_sandbox{};
    if (name == "srt") return ipybox::srt_sandbox{};
    return ipybox::bubblewrap_sandbox{};
}

} // namespace

int main(int argc, char** argv) {
    int const kernels = argc > 2 ? std::stoi(argv[2]) : 1;
    ipybox::runtime::options options;
    options.walls = argc > 3;
    ipybox::runtime const shared(options, sandbox_named(argc > 1 ? argv[1] : "bubblewrap"));
    std::vector<ipybox::executor> boxes;
    for (int i = 0; i < kernels; ++i) {
        auto const result =
            boxes.emplace_back(ipybox::executor_options{}, ipybox::stream_reader_approval{}, shared).execute("1+1");
        if (!result) {
            std::cerr << result.error() << '\n';
            return 1;
        }
    }
    std::cout << kernels << std::endl;
    std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}
