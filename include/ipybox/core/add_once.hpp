#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// Appends a value, unless it is there.
template <class T>
void add_once(std::vector<T>& values, T value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

} // namespace ipybox::detail
