#include <cli/typed_line.hpp>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace ipybox::cli {
namespace {

bool woken_before_input(int wake) {
    std::array<pollfd, 2> watched{{{STDIN_FILENO, POLLIN, 0}, {wake, POLLIN, 0}}};
    while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {}
    return watched[1].revents != 0;
}

} // namespace

typed_line read_typed_line(int wake) {
    // Byte by byte: bytes behind the line are for the next reader.
    std::string line;
    for (;;) {
        if (woken_before_input(wake)) return {typed_line::end::woken};
        char byte = 0;
        auto const count = ::read(STDIN_FILENO, &byte, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return {typed_line::end::end_of_file, std::move(line)};
        if (byte == '\n') return {typed_line::end::line, std::move(line)};
        line.push_back(byte);
    }
}

} // namespace ipybox::cli
