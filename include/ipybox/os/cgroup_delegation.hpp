#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox::os {

/// The place of this process's group in the hierarchy of version 2.
struct own_cgroup {
    std::filesystem::path hierarchy; ///< where that is mounted
    std::filesystem::path group;     ///< absolute, below `hierarchy` or the same
};

/// \param root where `proc/self/cgroup` and `sys/fs/cgroup` lie; another one in tests. \return none where there is no
/// such hierarchy, or the group cannot be seen
[[nodiscard]] std::optional<own_cgroup> find_own_cgroup(std::filesystem::path const& root = "/");

/**
 * \brief Looks whether groups with limits can be made in a group, and processes moved there.
 * \param group absolute; it must be there
 * \param controllers that it has to have: "memory", "pids"
 * \param root as above
 * \par Errors errc::sandbox_unavailable — the text says what is missing, and what mends that
 */
[[nodiscard]] result<void> check_delegated_cgroup(std::filesystem::path const& group,
                                                  std::vector<std::string> const& controllers,
                                                  std::filesystem::path const& root = "/");

/**
 * \brief Makes a directory a group in which groups with limits can be made: makes it where it is missing, and has the
 * group above it give it controllers.
 * \param named a relative one counts from the group of this process
 * \return its absolute path
 * \par Errors errc::sandbox_unavailable — as check_delegated_cgroup; it belongs to another version than 2; it cannot be
 * made
 */
[[nodiscard]] result<std::filesystem::path> prepare_delegated_cgroup(std::filesystem::path const& named,
                                                                     std::vector<std::string> const& controllers);

/// Whether a path lies in a hierarchy of control groups, of either version.
[[nodiscard]] bool is_in_cgroups(std::filesystem::path const& path);

/// The highest directory above a group that belongs to the same mount.
[[nodiscard]] std::filesystem::path hierarchy_of(std::filesystem::path const& group);

/// The control groups that this machine has.
struct cgroup_support {
    std::string controllers =
        {}; ///< those of version 2 that the group of this process can have: "cpu memory pids"; empty: none
    bool delegated = false;  ///< this user may make groups with limits here
    std::string advice = {}; ///< what to name, or what is missing and what mends that
};

/// \param root as above
[[nodiscard]] cgroup_support find_cgroup_support(std::filesystem::path const& root = "/");

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/cgroup_delegation.ipp>
#endif
