#pragma once

#include <sys/wait.h>

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace ipybox::test {

inline std::ptrdiff_t entries_of(char const* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator());
}

/// What this process holds of the system.
struct holdings {
    std::ptrdiff_t descriptors = entries_of("/proc/self/fd");
    std::ptrdiff_t threads = entries_of("/proc/self/task");
    bool children = ::waitpid(-1, nullptr, WNOHANG) >= 0;

    friend bool operator==(holdings const&, holdings const&) = default;
};

} // namespace ipybox::test
