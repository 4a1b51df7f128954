#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/guarded_path.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::detail {

/// So many mounts of a sandbox are for what patterns find. bwrap takes some 2900 in all, but looks at all of them for
/// each one: four times as many take 16 times as long.
inline constexpr std::size_t most_found_mounts = 600;

/// So many paths that patterns of `allowRead` find can be read again.
inline constexpr std::size_t most_allowed_again = 300;

/// The directories at which the paths of a configuration begin.
struct file_scene {
    std::filesystem::path working_dir;              ///< absolute, without links
    std::filesystem::path home;                     ///< absolute; empty: none, and paths that begin with ~ mean nothing
    std::size_t most_entries = 1'000'000;           ///< how many names patterns may search
    std::vector<guarded_path> placeholders = {};    ///< made by other sandboxes: they count as missing
    std::vector<std::filesystem::path> closed = {}; ///< absolute, of a launch: code must not make those that are
                                                    ///< missing. One that ends with a slash is a directory
    std::size_t most_mounts = most_found_mounts;    ///< for what patterns find
    bool is_shared = false; ///< kernels work in directories below, for which each has rules of its own: nothing there
                            ///< is guarded here, nor is a directory closed as a whole
};

/**
 * \brief The meaning of a configuration for the files of this machine at this moment.
 * \details All paths are absolute and without links. A path within another one has its own rule, and the innermost rule
 * counts.
 */
struct file_rules {
    std::vector<std::filesystem::path> writable;
    std::vector<std::filesystem::path> unreadable;
    std::vector<std::filesystem::path> readable; ///< again, within those that are unreadable
    std::vector<guarded_path> guarded;           ///< within those that are writable
    std::size_t denied_writes = 0;               ///< so many of `guarded`, the first ones, are those of `deny_write`
    std::vector<std::filesystem::path> unreadable_later; ///< of `guarded`: what comes there must not be read either
    std::vector<std::filesystem::path> absent; ///< of `deny_read`, where code cannot make them, and not covered where
                                               ///< they are made later
    std::vector<std::string> notices;          ///< a sentence for each entry that does less than it seems to
};

/// `path` is one of the folders or lies below one. All absolute and normal.
[[nodiscard]] bool lies_in_one(std::filesystem::path const& path, std::vector<std::filesystem::path> const& folders);

/**
 * \brief Finds what the paths of a configuration mean, and what decides about other programs in the directories that
 * are writable.
 * \param search_depth how many names below a writable directory that is looked for
 * \par Errors errc::invalid_argument — a pattern cannot be used, or searches too much; control groups would be
 * writable; the working directory, or "/", could not be read. errc::io_error — a directory cannot be searched
 */
[[nodiscard]] result<file_rules> file_rules_of(sandbox_config::file_access const& config, int search_depth,
                                               file_scene const& scene);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/file_rules.ipp>
#endif
