#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/path_pattern.hpp>

#include <cstddef>
#include <filesystem>
#include <vector>

namespace ipybox::detail {

/// A path that exists, and the pattern it fits.
struct found_path {
    std::filesystem::path path;
    std::size_t pattern; ///< its index
};

/// So many paths may fit: each one is a mount, of which bwrap takes no more.
inline constexpr std::size_t most_found = 3000;

/**
 * \brief Searches the disk for what fits patterns: once for all of them that begin at the same directory.
 * \details Directories where nothing can fit are not read. `**` does not follow links. A directory that may not be read
 * counts as what could be found in it. A path that fits several patterns comes once for each.
 * \param most_entries how many names are looked at
 * \par Errors errc::invalid_argument — there are more names, or more than `most_found` fit; errc::io_error — a
 * directory cannot be read for another reason than its permissions
 */
[[nodiscard]] result<std::vector<found_path>> find_paths(std::vector<path_pattern> const& patterns,
                                                         std::size_t most_entries);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/path_search.ipp>
#endif
