#pragma once

#include <CLI/App.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {

/// The value of an option.
enum class value_kind {
    none, ///< a flag
    text,
    file,
    directory
};

/// One option or positional argument, as completion and the manual page show it.
struct option_description {
    std::vector<std::string> names; ///< with their dashes; of a positional argument none
    std::string placeholder = {};   ///< "FILE"; of a flag empty
    std::string text = {};          ///< one line
    value_kind takes = value_kind::none;
    std::vector<std::string> words = {}; ///< values that are offered
    bool repeatable = false;
    bool required = false;
};

/// A command with its options, or the whole program.
struct command_description {
    std::string name;
    std::string about;  ///< paragraphs, with a blank line between them
    std::string footer; ///< as it is printed: exit codes and examples
    std::vector<option_description> options = {};
    std::vector<option_description> positionals = {};
    std::vector<command_description> commands = {}; ///< in their order, hidden ones left out
};

/// Reads CLI11's option tree.
[[nodiscard]] command_description describe(CLI::App& app);

/// Words with something between them.
[[nodiscard]] std::string joined(std::vector<std::string> const& words, std::string_view separator = " ");

/// The first sentence of `about`, without its full stop.
[[nodiscard]] std::string summary_of(command_description const& command);

} // namespace ipybox::cli
