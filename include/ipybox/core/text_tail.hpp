#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ipybox::detail {

/// Appends to a text of which only the last `most` bytes are kept.
inline void append_tail(std::string& tail, std::string_view more, std::size_t most) {
    tail.append(more);
    if (tail.size() > most) tail.erase(0, tail.size() - most);
}

} // namespace ipybox::detail
