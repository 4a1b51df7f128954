#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::cli {

/// A piece of code that is run at once.
struct cell {
    std::string code;
    std::string title = {};
    bool may_raise = false; ///< an exception is what it is meant to show: the next cell follows
};

/// The tags of cells that programs which run notebooks obey (nbclient, nbconvert).
inline constexpr std::string_view raises_exception = "raises-exception";
inline constexpr std::string_view skip_execution = "skip-execution";

/// The white space of Python's source: what may stand on a blank line.
inline constexpr std::string_view white_space = " \t\r\n\f\v";

[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
    auto const first = text.find_first_not_of(white_space);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

/// What follows the marker when a line begins a cell: `# %%`, or `#%%` as some editors write it.
[[nodiscard]] inline std::optional<std::string_view> after_marker(std::string_view line) noexcept {
    for (std::string_view const marker : {"# %%", "#%%"})
        if (line.starts_with(marker)) return trimmed(line.substr(marker.size()));
    return std::nullopt;
}

/// Cells for the reader, not for the kernel.
[[nodiscard]] inline bool is_prose(std::string_view title) noexcept {
    for (std::string_view const kind : {"[markdown]", "[md]", "[raw]"})
        if (title.find(kind) != title.npos) return true;
    return false;
}

/// Whether a title has a tag, as Jupytext writes it: `# %% tags=["raises-exception"]`.
[[nodiscard]] inline bool has_tag(std::string_view title, std::string_view tag) {
    auto const begin = title.find("tags=[");
    if (begin == title.npos) return false;
    auto const tags = title.substr(begin, title.find(']', begin) - begin);
    return tags.find('"' + std::string(tag) + '"') != tags.npos;
}

/// Blank lines and comments alone.
[[nodiscard]] inline bool has_no_code(std::string_view text) noexcept {
    while (!text.empty()) {
        auto const line = trimmed(text.substr(0, text.find('\n')));
        if (!line.empty() && !line.starts_with('#')) return false;
        auto const end = text.find('\n');
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return true;
}

/**
 * \brief Cuts a file into cells at lines that begin with `# %%`.
 * \details The rest of such a line is the title of the cell below it. Blank cells, `# %% [markdown]` cells and those
 * that are tagged `skip-execution` are left out, and so is what stands before the first marker when it is but comments:
 * the head of the file. Text without a marker is one cell.
 */
[[nodiscard]] inline std::vector<cell> cut_into_cells(std::string_view text) {
    std::vector<cell> cells;
    cell current;
    auto in_head = true;
    auto const finish = [&](bool cut) {
        auto const left_out = trimmed(current.code).empty() || is_prose(current.title) ||
                              has_tag(current.title, skip_execution) || (in_head && cut && has_no_code(current.code));
        current.may_raise = has_tag(current.title, raises_exception);
        if (!left_out) cells.push_back(std::move(current));
    };
    while (!text.empty()) {
        auto const end = text.find('\n');
        auto const line = text.substr(0, end == text.npos ? text.size() : end + 1);
        if (auto const title = after_marker(line)) {
            finish(true);
            current = {{}, std::string(*title)};
            in_head = false;
        } else {
            current.code += line;
        }
        text.remove_prefix(line.size());
    }
    finish(false);
    return cells;
}

} // namespace ipybox::cli
