#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::detail {

/// A path that a search has found and that is to be closed.
struct path_to_close {
    /// What code must not do with it.
    enum class right { read, write };

    std::filesystem::path path;
    std::filesystem::path root; ///< in which it was found
    right closed = right::write;
    std::size_t mounts = 1; ///< that it takes by itself
    std::size_t number = 0; ///< the caller's
};

/// Paths to close, of which there are no more than can be mounted.
struct gathered_paths {
    /// Those that are closed one by one.
    std::vector<path_to_close> single;
    /// Directories that are closed as a whole, as too many paths lie in each. Each lies directly in a root.
    std::vector<path_to_close> whole;
    /// Those for which there is no room.
    std::vector<path_to_close> left_out;
};

/// Whether directories are closed as a whole.
enum class whole_directories { closed, never };

/**
 * \brief Gathers paths to close where they need more mounts than there can be.
 * \details A path takes its mounts, and one for each directory on the way from its root: these are pinned. Where there
 * are too many in all, the directories of a root in which the most lie are closed as a whole. If that is not enough,
 * those stay closed that have existed longest: what code adds comes last.
 * \param kept directories that are never closed as a whole, nor one around them
 */
[[nodiscard]] gathered_paths gather_paths(std::vector<path_to_close> found,
                                          std::vector<std::filesystem::path> const& kept, std::size_t most_mounts,
                                          whole_directories whole = whole_directories::closed);

/// Sentences for people about what is closed as a whole, and what is left out.
[[nodiscard]] std::vector<std::string> notices_of(gathered_paths const& gathered);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/gathered_paths.ipp>
#endif
