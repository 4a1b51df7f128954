#pragma once

#include <sys/wait.h>

#include <csignal>
#include <string>

#include "support/eventually.hpp"

namespace ipybox::test {

/// What became of a child: its exit code, "killed", or "hangs" where it did not end within a bound and was killed for
/// that.
inline std::string end_of(pid_t child) {
    int status = 0;
    bool ended = false;
    if (!eventually([&] { return ended = ended || ::waitpid(child, &status, WNOHANG) == child; })) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return "hangs";
    }
    return WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "killed";
}

} // namespace ipybox::test
