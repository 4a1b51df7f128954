#pragma once

#include <ipybox/sandbox/guarded_path.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::detail {

/// Whether the settings of a repository are among its deciding files.
enum class git_settings { guarded, open };

/**
 * \brief The files and directories of a repository by which git runs programs, also those that are missing.
 * \details Those of its submodules and worktrees, and the directory of hooks that its settings name in its project, are
 * among them. If
 * submodules lie deeper, or are more, than are looked at, the directory of all of them is named as a whole.
 * \param git its directory `.git`
 */
[[nodiscard]] std::vector<guarded_path> deciding_files_of(std::filesystem::path const& git, git_settings settings);

/// Whether git takes a directory for that of a repository.
[[nodiscard]] bool is_repository(std::filesystem::path const& directory);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/repository_files.ipp>
#endif
