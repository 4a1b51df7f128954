#pragma once

#include <CLI/App.hpp>

#include <string>

namespace ipybox::cli {

/// The message about a wrong call of the program, as CLI11 asks for it: two lines, what is wrong and what tells more.
[[nodiscard]] std::string complaint_about(CLI::App const* program, CLI::Error const& error);

} // namespace ipybox::cli
