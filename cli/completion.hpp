#pragma once

#include <cli/command_description.hpp>

#include <string>

namespace ipybox::cli {

/// The script that completes the program's command line in bash (complete -F). It needs no package of completions.
[[nodiscard]] std::string bash_completion(command_description const& program);

/// The same for zsh (compdef): to be sourced, or put as `_ipybox` into a directory of `fpath`.
[[nodiscard]] std::string zsh_completion(command_description const& program);

/// The same for fish (complete -c).
[[nodiscard]] std::string fish_completion(command_description const& program);

} // namespace ipybox::cli
