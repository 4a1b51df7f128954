#pragma once

#include <ipybox/os/datagram.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <support/scratch_dir.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sandbox_test {

using ipybox::test::scratch_dir;

struct outcome {
    int code;
    std::string output; ///< standard output and error
};

/// Runs `body` in a child process, whose output is collected; `body` returns its exit code or executes a program.
inline outcome in_child(std::function<int()> const& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {-1, "pipe2"};
    ipybox::os::unique_fd reader(ends[0]);
    ipybox::os::unique_fd writer(ends[1]);
    auto const pid = ::fork();
    if (pid == 0) {
        ::dup2(writer.get(), 1);
        ::dup2(writer.get(), 2);
        ::_exit(body());
    }
    writer.reset();
    outcome seen{-1, {}};
    char chunk[4096];
    for (ssize_t n; (n = ::read(reader.get(), chunk, sizeof chunk)) > 0;)
        seen.output.append(chunk, static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(pid, &status, 0);
    seen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return seen;
}

/// Becomes the program of the launch specification.
inline int execute(ipybox::launch_spec const& spec) {
    for (auto const& [number, bytes] : spec.inputs) {
        auto const file = ipybox::os::make_memory_file("input", bytes);
        ipybox::os::unique_fd const away(::fcntl(file->get(), F_DUPFD_CLOEXEC, number + 1));
        ::dup2(away.get(), number);
    }
    std::vector<std::string> pairs;
    for (auto const& [name, value] : spec.env) pairs.push_back(name + '=' + value);
    std::vector<char*> env;
    for (auto& pair : pairs) env.push_back(pair.data());
    env.push_back(nullptr);
    std::vector<char*> argv;
    for (auto const& word : spec.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execve(argv[0], argv.data(), env.data());
    return 127;
}

inline outcome run(ipybox::launch_spec const& spec) {
    return in_child([&] { return execute(spec); });
}

/// Gives up the rights of root for those of an ordinary user.
inline bool become_ordinary_user() {
    constexpr uid_t nobody = 65534;
    return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
           ::setresuid(nobody, nobody, nobody) == 0;
}

} // namespace sandbox_test
