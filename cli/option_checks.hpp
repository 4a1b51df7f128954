#pragma once

#include <string>

namespace ipybox::cli {

/// Checks of what an option is given, as CLI11 calls them: each returns what is wrong with the text, or an empty
/// string.

/// An empty text is as from a variable of a script that is not set. It must not mean the default.
[[nodiscard]] std::string check_given(std::string const& text);

/// A number of seconds that something may take.
[[nodiscard]] std::string check_seconds(std::string const& text);

/// A number of seconds that may be 0.
[[nodiscard]] std::string check_seconds_or_none(std::string const& text);

/// A number of things. 0 is one.
[[nodiscard]] std::string check_count(std::string const& text);

/// A directory to which files can be written, or that can be made where it is named.
[[nodiscard]] std::string check_output_directory(std::string const& path);

} // namespace ipybox::cli
