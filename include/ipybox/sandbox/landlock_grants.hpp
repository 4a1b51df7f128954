#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/launch_spec.hpp>
#include <ipybox/sandbox/file_rules.hpp>

#include <filesystem>
#include <vector>

namespace ipybox::detail {

/// The paths that a Landlock domain opens; everything else is closed. All paths exist and are without links.
struct landlock_grants {
    std::vector<std::filesystem::path> readable;
    std::vector<std::filesystem::path> writable;
};

/**
 * \brief The meaning of rules for files and a launch if directories can only be opened, and only as a whole.
 * \details Readable are the directories of the system's programs, /proc, the working directory, and what `allowRead`
 * and the launch name.
 * \param home the user's home directory; empty: none
 * \param spec with a working directory without links
 * \par Errors errc::invalid_argument — a path would have to be closed within a directory that is open, or cannot be
 * opened
 */
[[nodiscard]] result<landlock_grants> landlock_grants_of(file_rules const& rules, launch_spec const& spec,
                                                         std::filesystem::path const& home);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/landlock_grants.ipp>
#endif
