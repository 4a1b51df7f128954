#pragma once

#include <ipybox/core/config.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ipybox::detail {

/// Bytes of memory that the machine has; none where it does not say.
[[nodiscard]] std::optional<std::uint64_t> physical_memory() noexcept;

/**
 * \brief Bytes of memory that the control groups of this process leave it; none where they do not limit it.
 * \details The least limit of its group and of those above it, in version 2 (`memory.max`) and version 1
 * (`memory.limit_in_bytes`). A container usually sees its own group as the root.
 * \param root Where `proc/self/cgroup` and `sys/fs/cgroup` lie; another one in tests.
 */
[[nodiscard]] std::optional<std::uint64_t> memory_of_control_groups(std::filesystem::path const& root = "/");

/// Four fifths of the memory that this process can have: the rest is for the application and the system. Found out
/// once.
[[nodiscard]] std::optional<std::uint64_t> large_share_of_memory();

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/usable_memory.ipp>
#endif
