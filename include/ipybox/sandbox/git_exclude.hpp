#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::detail {

/// A file of patterns that git passes over (gitignore(5)), and its text within a sandbox.
struct git_exclude {
    std::filesystem::path file;
    std::string text;
};

/**
 * \brief The `.git/info/exclude` of a project with the paths that git cannot use within a sandbox: else `git add -A`
 * fails at a file that cannot be read, and `git clean` and `git stash -u` at a directory that cannot be removed.
 * \param paths absolute; those outside of the project are left out
 * \return none where the project has no such file, or reaches it by a link
 */
[[nodiscard]] std::optional<git_exclude> exclude_in(std::filesystem::path const& project,
                                                    std::vector<std::filesystem::path> const& paths);

/**
 * \brief Has git pass over a placeholder, where it lies in a repository, or in what could become one: else a file that
 * stands there would be staged by the next `git add -A`.
 * \details Two lines in `.git/info/exclude` of the repository, which is made if need be. They are as they were if that
 * cannot be written to.
 */
void pass_over_placeholder(std::filesystem::path const& placeholder);

/// Removes these lines, and what was made for them.
void end_passing_over(std::filesystem::path const& placeholder);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/git_exclude.ipp>
#endif
