#pragma once

#include <ipybox/mcp/line_reader.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace ipybox::mcp {

IPYBOX_DECL std::span<char> line_reader::prepare() {
    auto const waiting = end_ - begin_;
    bool const shrinks = waiting == 0 && capacity_ > 4 * read_size;
    if (capacity_ - end_ < read_size || shrinks) {
        // Doubled, a line is copied twice at most, however long it gets.
        auto const wanted = std::max(waiting + read_size, shrinks ? read_size : 2 * waiting);
        if (wanted > capacity_ || shrinks) {
            std::unique_ptr<char[]> other(new char[wanted]); // not value-initialised: it is read into
            if (waiting > 0) std::memcpy(other.get(), bytes_.get() + begin_, waiting);
            bytes_ = std::move(other);
            capacity_ = wanted;
        } else {
            std::memmove(bytes_.get(), bytes_.get() + begin_, waiting);
        }
        searched_ -= begin_;
        begin_ = 0;
        end_ = waiting;
    }
    return {bytes_.get() + end_, capacity_ - end_};
}

IPYBOX_DECL result<std::optional<std::string_view>> line_reader::next() {
    auto const* const from = bytes_.get() + searched_;
    auto const* const found =
        end_ > searched_ ? static_cast<char const*>(std::memchr(from, '\n', end_ - searched_)) : nullptr;
    searched_ = found ? static_cast<std::size_t>(found - bytes_.get()) + 1 : end_;
    if (searched_ - begin_ > longest_)
        return failure(errc::message_too_large, "sent a line of more than " + std::to_string(longest_ >> 20) + " MiB");
    if (!found) return std::nullopt;
    std::string_view line(bytes_.get() + begin_, searched_ - 1 - begin_);
    begin_ = searched_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

} // namespace ipybox::mcp
