#include <cli/output_file.hpp>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ipybox::cli {
namespace {

bool are_one_terminal(int one, int other) {
    if (::isatty(one) == 0 || ::isatty(other) == 0) return false;
    struct ::stat a{};
    struct ::stat b{};
    return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_rdev == b.st_rdev;
}

} // namespace

output_file::output_file(int descriptor, escape_sequences passed) : descriptor_(descriptor) {
    if (passed == escape_sequences::colours && ::isatty(descriptor) != 0) filter_.emplace();
}

output_file::output_file(int descriptor, escape_sequences passed, output_file const& beside)
    : output_file(descriptor, passed) {
    if (are_one_terminal(descriptor, beside.descriptor_)) position_ = beside.position_;
}

void output_file::write(std::string_view text) {
    if (text.empty()) return;
    position_->pass(text);
    if (filter_)
        write_all((*filter_)(text));
    else
        write_all(text);
}

void output_file::write_all(std::string_view text) {
    while (!text.empty()) {
        auto const count = ::write(descriptor_, text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            // Another process that shares the descriptor has made it non-blocking.
            pollfd writable{descriptor_, POLLOUT, 0};
            ::poll(&writable, 1, -1);
        } else if (errno != EINTR) {
            throw output_error(errno, std::generic_category());
        }
    }
}

void output_file::write_lines(std::string_view text) {
    write(position_->end_line());
    write(text);
    write(position_->end_line());
}

} // namespace ipybox::cli
