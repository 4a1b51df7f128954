#pragma once

#include <ipybox/core/nearest_name.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace ipybox::detail {

inline constexpr std::size_t shortest_misspelt = 3;  ///< a shorter one is like too many names
inline constexpr std::size_t longest_misspelt = 100; ///< a longer one is not misspelt, and would take long
inline constexpr std::size_t least_in_common = 4;    ///< letters in common

/// How many letters are wrong, missing, too many, or exchanged with the next one.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    // rows of the table for a's beginnings: the one before the last, the last one, this one
    std::vector<std::size_t> older(b.size() + 1);
    auto last = older;
    auto row = older;
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        older.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], older[j - 2] + 1);
        }
    }
    return row[b.size()];
}

inline std::size_t common_beginning(std::string_view a, std::string_view b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

IPYBOX_DECL std::string nearest_name(std::string_view word, std::vector<std::string> const& names) {
    if (word.size() < shortest_misspelt || word.size() > longest_misspelt) return {};
    std::string_view nearest;
    // Few edits count more than a common beginning.
    std::tuple<bool, std::size_t, std::size_t> least{};
    for (auto const& name : names) {
        auto const edits = edit_distance(word, name);
        auto const beginning = common_beginning(word, name);
        bool const is_misspelt = edits <= word.size() / 3;
        bool const begins_alike =
            beginning == word.size() || (beginning >= least_in_common && 2 * beginning >= word.size());
        if (!is_misspelt && !begins_alike) continue;
        std::tuple const rank{!is_misspelt, is_misspelt ? 0 : longest_misspelt - beginning, edits};
        if (!nearest.empty() && rank >= least) continue;
        nearest = name;
        least = rank;
    }
    return std::string(nearest);
}

} // namespace ipybox::detail
