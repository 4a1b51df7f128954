#pragma once

#include <ipybox/os/pipe.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace ipybox::os {

IPYBOX_DECL result<std::string> program_output(launch_spec const& spec, std::chrono::milliseconds bound) {
    auto ends = make_pipe();
    if (!ends) return failure(ends);
    auto const reader = std::move(ends->reader);
    auto writer = std::move(ends->writer);
    // Signals as new: bwrap before 0.11.1 waits for ever with an ignored SIGCHLD, or with a blocked one.
    auto process = start_process(spec, {{1, writer.get()}, {2, writer.get()}});
    if (!process) return failure(process);
    writer.reset();

    auto const deadline = std::chrono::steady_clock::now() + bound;
    std::string text;
    bool in_time = true;
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd watched[] = {{reader.get(), POLLIN, 0}, {process->descriptor(), POLLIN, 0}};
        int const ready =
            ::poll(watched, 2, static_cast<int>(std::max(left.count(), std::chrono::milliseconds::rep{0})));
        if (ready < 0 && errno == EINTR) continue;
        in_time = ready > 0;
        if (!in_time) break;
        if (watched[0].revents == 0) break; // it has ended; what it has started may have the pipe, and goes with it
        char chunk[4096];
        auto const n = ::read(reader.get(), chunk, sizeof chunk);
        if (n <= 0) break;
        if (text.size() < 16 * sizeof chunk) text.append(chunk, static_cast<std::size_t>(n));
    }
    process->kill_tree();
    (void)process->wait(std::chrono::seconds(1));
    if (!in_time) {
        return failure(errc::timed_out,
                       spec.argv.front() + " did not end within " + std::to_string(bound.count()) + " ms");
    }
    return text;
}

} // namespace ipybox::os
