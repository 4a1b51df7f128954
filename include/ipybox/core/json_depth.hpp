#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

/// Arrays and objects inside each other, in any JSON that is read or written: what works by recursion gets no further.
inline constexpr int deepest_json = 500;

} // namespace detail

/**
 * \brief Whether more than `levels` arrays and objects stand inside each other.
 * \details Without recursion: it says whether recursion over the value may be dared. The rest is not looked at once the
 * answer is known.
 * \tparam Json nlohmann::json or nlohmann::ordered_json
 */
template <class Json>
[[nodiscard]] bool nests_deeper_than(std::size_t levels, Json const& value) {
    std::vector<std::pair<Json const*, std::size_t>> open; // arrays and objects, and their levels
    if (value.is_structured()) open.emplace_back(&value, 1);
    while (!open.empty()) {
        auto const [container, level] = open.back();
        open.pop_back();
        if (level > levels) return true;
        for (auto const& element : *container)
            if (element.is_structured()) open.emplace_back(&element, level + 1);
    }
    return false;
}

} // namespace ipybox
