#pragma once

#include <ipybox/core/config.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/// The outcome of one look at the machine.
enum class finding_state {
    works,
    fails,  ///< `finding::gap` says why
    untried ///< `finding::gap` says why it was not looked at
};

/// "works", "fails", "untried".
[[nodiscard]] constexpr std::string_view to_string(finding_state state) noexcept {
    switch (state) {
    case finding_state::works: return "works";
    case finding_state::fails: return "fails";
    case finding_state::untried: break;
    }
    return "untried";
}

/// One thing of the machine that was looked at.
struct finding {
    std::string name;                                                ///< "interpreter", "bubblewrap", "node", …
    finding_state state = finding_state::untried;                    ///< whether it works
    bool needed = false;                                             ///< code does not run as asked for without it
    std::string version = {};                                        ///< empty: unknown
    std::filesystem::path path = {};                                 ///< where it is; empty: unknown
    std::string note = {};                                           ///< for people: how it was found, what it is for
    std::optional<std::chrono::milliseconds> elapsed = std::nullopt; ///< until the first cell had run, of a kernel
    std::string gap = {};                                            ///< why it does not work; empty: it works
    std::string remedy = {}; ///< the command that mends the gap; empty: the gap says what to do, or nothing can be done
};

/// Findings of one kind, with a title for people.
struct finding_group {
    std::string name;  ///< "python", "kernels", "programs", "directories", "network"
    std::string title; ///< for people
    /// The findings, in the order in which they are shown.
    std::vector<finding> findings = {};
};

} // namespace ipybox
