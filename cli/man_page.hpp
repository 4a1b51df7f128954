#pragma once

#include <cli/command_description.hpp>

#include <string>
#include <string_view>

namespace ipybox::cli {

/// The manual page of the program (man(7)): each command with its options, exit codes and examples.
[[nodiscard]] std::string man_page(command_description const& program, std::string_view version);

} // namespace ipybox::cli
