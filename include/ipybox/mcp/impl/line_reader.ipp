#pragma once

#include <ipybox/mcp/line_reader.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace ipybox::mcp {

IPYBOX_DECL std::span<char> line_reader::prepare() {
    if (begin_ > 0 && (begin_ == end_ || capacity_ - end_ < read_size)) {
        auto const waiting = end_ - begin_;
        if (waiting > 0) std::memmove(bytes_.get(), bytes_.get() + begin_, waiting);
        searched_ -= begin_;
        begin_ = 0;
        end_ = waiting;
    }
    if (end_ == 0 && capacity_ > largest_kept) {
        bytes_.reset();
        capacity_ = 0;
    }
    if (capacity_ - end_ < read_size) {
        // A system that can move pages does not copy them here.
        auto const wanted = std::max(end_ + read_size, 2 * end_);
        auto* const larger = static_cast<char*>(std::realloc(bytes_.get(), wanted));
        if (larger == nullptr) throw std::bad_alloc();
        (void)bytes_.release();
        bytes_.reset(larger);
        capacity_ = wanted;
    }
    return {bytes_.get() + end_, std::min(capacity_ - end_, largest_read)};
}

IPYBOX_DECL std::string_view line_reader::skip_line() noexcept {
    auto const* const from = bytes_.get() + begin_;
    auto const* const found =
        end_ > begin_ ? static_cast<char const*>(std::memchr(from, '\n', end_ - begin_)) : nullptr;
    auto const length = found ? static_cast<std::size_t>(found - from) : end_ - begin_;
    begin_ = searched_ = begin_ + length + (found ? 1 : 0);
    skips_ = found == nullptr;
    return {from, length};
}

IPYBOX_DECL result<std::optional<std::string_view>> line_reader::next() {
    if (skips_ && (static_cast<void>(skip_line()), skips_)) return std::nullopt;
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
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    return line;
}

} // namespace ipybox::mcp
