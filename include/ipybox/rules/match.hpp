#pragma once

namespace ipybox {

/// Whether something is what a pattern describes. A rule that allows takes only `yes`; a rule that forbids does not
/// overlook `unsure`.
enum class match {
    no,     ///< it is something else
    unsure, ///< it cannot be told: an argument is missing or of another type, a word is computed by a shell, a name is
            ///< written as in Python
    yes,    ///< it is
};

/// Both have to match.
[[nodiscard]] constexpr match both(match a, match b) noexcept { return a < b ? a : b; }

[[nodiscard]] constexpr match match_if(bool condition) noexcept { return condition ? match::yes : match::no; }

} // namespace ipybox
