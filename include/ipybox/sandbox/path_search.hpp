#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/path_pattern.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::detail {

/// A path that exists, and the pattern it fits.
struct found_path {
    std::filesystem::path path;
    std::size_t pattern; ///< its index
};

/// So many names of one directory are read. Of further ones, patterns without wildcards find theirs all the same.
inline constexpr std::size_t most_names_in_directory = 100'000;

/// So many directories are looked at by such patterns alone after so many names have been read.
inline constexpr std::size_t most_unread_directories = 100'000;

/// The outcome of a search.
struct search_result {
    std::vector<found_path> found;                 ///< those near to the root of their pattern first
    std::vector<std::filesystem::path> not_read{}; ///< directories in which not all names were looked at
};

/**
 * \brief Searches the disk for what fits patterns: once for all of them that begin at the same directory.
 * \details Directories where nothing can fit are not read. `**` does not follow links. A directory that may not be read
 * counts as what could be found in it. A path that fits several patterns comes once for each. It ends with any number
 * of files: what there are too many of is in `not_read`.
 * \param most_entries how many names are looked at
 * \par Errors errc::io_error — a directory cannot be read for another reason than its permissions or its path
 */
[[nodiscard]] result<search_result> find_paths(std::vector<path_pattern> const& patterns, std::size_t most_entries);

/// A sentence for people about directories in which not all names were looked at; there are some.
[[nodiscard]] std::string notice_of_unread(std::vector<std::filesystem::path> const& directories);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/path_search.ipp>
#endif
