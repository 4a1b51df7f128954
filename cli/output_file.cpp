#include <cli/output_file.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace ipybox::cli {

void output_file::write(std::string_view text) {
    if (text.empty()) return;
    in_line_ = text.back() != '\n';
    while (!text.empty()) {
        auto const count = ::write(descriptor_, text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            // Whoever shares the descriptor has made it non-blocking.
            pollfd writable{descriptor_, POLLOUT, 0};
            ::poll(&writable, 1, -1);
        } else if (errno != EINTR) {
            throw output_error(errno, std::generic_category());
        }
    }
}

void output_file::write_lines(std::string_view text) {
    if (in_line_) write("\n");
    write(text);
    if (in_line_) write("\n");
}

} // namespace ipybox::cli
