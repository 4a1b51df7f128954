#pragma once

#include <cstdint>

/** \file
 * Landlock's system calls and their arguments, which headers of older systems lack in part. From the kernel's
 * documentation (Documentation/userspace-api/landlock.rst) and include/uapi/linux/landlock.h of Linux 6.12, ABI 6.
 */

namespace ipybox::os::landlock {

// The same numbers on every machine.
inline constexpr long create_ruleset = 444;
inline constexpr long add_rule = 445;
inline constexpr long restrict_self = 446;

inline constexpr unsigned ask_for_version = 1; ///< LANDLOCK_CREATE_RULESET_VERSION
inline constexpr int path_beneath = 1;         ///< LANDLOCK_RULE_PATH_BENEATH

/// struct landlock_ruleset_attr
struct ruleset_attributes {
    std::uint64_t files;
    std::uint64_t ports;
    std::uint64_t scopes;
};

/// struct landlock_path_beneath_attr
struct [[gnu::packed]] path_beneath_attributes {
    std::uint64_t allowed;
    std::int32_t parent;
};

// LANDLOCK_ACCESS_FS_*
inline constexpr std::uint64_t execute = 1U << 0;
inline constexpr std::uint64_t write_files = 1U << 1;
inline constexpr std::uint64_t read_files = 1U << 2;
inline constexpr std::uint64_t read_directories = 1U << 3;
inline constexpr std::uint64_t make_character_device = 1U << 6;
inline constexpr std::uint64_t make_block_device = 1U << 11;
inline constexpr std::uint64_t truncate = 1U << 14;
inline constexpr std::uint64_t control_device = 1U << 15;
inline constexpr std::uint64_t all_of_files = (1U << 16) - 1;

/// The rights that can be granted to a file other than a directory.
inline constexpr std::uint64_t for_files = execute | write_files | read_files | truncate | control_device;

inline constexpr std::uint64_t all_ports = 3;  ///< LANDLOCK_ACCESS_NET_BIND_TCP and CONNECT_TCP
inline constexpr std::uint64_t all_scopes = 3; ///< LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and SIGNAL

} // namespace ipybox::os::landlock
