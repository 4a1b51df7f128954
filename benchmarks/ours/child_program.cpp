#include <ours/child_program.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

constexpr std::size_t pipe_size = 64 * 1024;

struct pipe_ends {
    int read;
    int write;
};

pipe_ends new_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    return {ends[0], ends[1]};
}

} // namespace

child_program::child_program(std::filesystem::path const& program, std::vector<std::string> arguments) {
    std::string path = program.string();
    std::vector<char*> argv{path.data()};
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    auto const in = new_pipe();
    auto const out = new_pipe();
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
    int const failure = ::posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in.read);
    ::close(out.write);
    input_ = in.write;
    output_ = out.read;
    if (failure != 0) throw std::system_error(failure, std::generic_category(), path);
}

child_program::~child_program() {
    ::close(input_);
    ::close(output_);
    ::waitpid(pid_, nullptr, 0);
}

std::string child_program::line() {
    std::size_t searched = 0;
    for (;;) {
        auto const end = read_.find('\n', searched);
        if (end != std::string::npos) {
            auto text = read_.substr(0, end);
            read_.erase(0, end + 1);
            return text;
        }
        searched = read_.size();
        read_.resize(searched + pipe_size);
        auto const count = ::read(output_, read_.data() + searched, pipe_size);
        if (count <= 0) throw std::runtime_error("the program ended without a line");
        read_.resize(searched + static_cast<std::size_t>(count));
    }
}

void child_program::write(std::string_view text) {
    while (!text.empty()) {
        auto const count = ::write(input_, text.data(), text.size());
        if (count < 0) throw std::system_error(errno, std::generic_category(), "write");
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

} // namespace bench
