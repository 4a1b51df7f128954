#pragma once

#include <ipybox/action/action_host.hpp>
#include <ipybox/action/action_request.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// The streams of a program, and what the kernel reads of them.
struct program_pipes {
    program_streams theirs;
    std::vector<os::unique_fd> ours; ///< read ends
};

/// Makes the write end of a pipe and keeps its read end.
inline result<os::unique_fd> add_pipe(std::vector<os::unique_fd>& read_ends) {
    auto ends = os::make_pipe();
    if (!ends) return failure(ends);
    read_ends.push_back(std::move(ends->reader));
    return std::move(ends->writer);
}

inline result<os::unique_fd> program_input(std::string const& text) {
    if (!text.empty()) return os::make_memory_file("stdin", text);
    os::unique_fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return failure(system_failure("/dev/null", errno));
    return nothing;
}

inline result<program_pipes> make_pipes(program_run const& wanted) {
    program_pipes pipes;
    auto input = program_input(wanted.input);
    if (!input) return failure(input);
    auto output = add_pipe(pipes.ours);
    if (!output) return failure(output);
    auto const copy = [&output] { return ::fcntl(output->get(), F_DUPFD_CLOEXEC, 0); };
    auto errors = wanted.merge ? result<os::unique_fd>(os::make_unforked(copy)) : add_pipe(pipes.ours);
    if (!errors) return failure(errors);
    pipes.theirs = {std::move(*input), std::move(*output), std::move(*errors)};
    return pipes;
}

} // namespace ipybox::detail
