#pragma once

#include <ipybox/os/pipe.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace ipybox::os {

IPYBOX_DECL result<pipe_ends> make_pipe() {
    int ends[2];
    held_forks const meanwhile(2);
    if (::pipe2(ends, O_CLOEXEC) != 0) return failure(ipybox::detail::system_failure("pipe2", errno));
    return pipe_ends{unique_fd(ends[0], meanwhile), unique_fd(ends[1], meanwhile)};
}

} // namespace ipybox::os
