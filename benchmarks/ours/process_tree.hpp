#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

/// A process of Linux, as /proc describes it.
struct process_entry {
    pid_t pid;
    pid_t parent;
    std::string name;
};

/// The process and everything below it, parents before their children.
[[nodiscard]] std::vector<process_entry> process_tree(pid_t root);

/// The arguments it was started with, spaces between them; empty for a process that has ended.
[[nodiscard]] std::string command_line(pid_t pid);

/// Its proportional set size in MB (10^6 bytes); 0 for a process that has ended.
[[nodiscard]] double pss(pid_t pid);

} // namespace bench
