#pragma once

#include <filesystem>
#include <string>

namespace ipybox::cli {

/// Whether the home directory, or one above it, may be the one that code writes to.
enum class home_directory { refused, allowed };

/**
 * \brief A directory as people and clients write it: `~/work`, `$HOME/work` and `file:///home/me/work` are expanded.
 * \param text becomes the path
 * \return why it names none: another variable is left, that a shell or a client would have put in
 */
[[nodiscard]] std::string expand_directory(std::string& text);

/// The directory that code works in, and what is to be said about it.
struct working_directory {
    std::filesystem::path path;
    std::string notice; ///< empty: it is the one that was meant
};

/**
 * \brief The directory that code works in.
 * \details If none is named, it is the current one, unless that is the home directory or one above it: then a fresh
 * private one below /tmp.
 * \param named empty: none is
 * \throw CLI::ValidationError for a home directory that is named and not allowed, or if no private one can be made
 */
[[nodiscard]] working_directory choose_working_directory(std::filesystem::path const& named, std::string const& option,
                                                         home_directory home);

} // namespace ipybox::cli
