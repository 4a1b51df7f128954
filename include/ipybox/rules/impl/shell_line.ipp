#pragma once

#include <ipybox/rules/impl/shell_splitter.hpp>
#include <ipybox/rules/program_word.hpp>
#include <ipybox/rules/shell_line.hpp>

#include <algorithm>

namespace ipybox::detail {

IPYBOX_DECL shell_line split_shell_line(std::string_view text, inner_lines how) {
    shell_line found;
    found.anew = shell_splitter(text, found, how).run();
    return found;
}

IPYBOX_DECL std::optional<std::string_view> line_of(shell_command const& command) {
    auto const& words = command.words;
    bool const all_literal = std::all_of(words.begin(), words.end(), [](auto const& word) { return word.literal; });
    if (!all_literal || words.size() != 3 || command.redirected || !command.assigned.empty()) return std::nullopt;
    if (!is_posix_shell(words[0].text) || words[1].text != "-c") return std::nullopt;
    return words[2].text;
}

} // namespace ipybox::detail
