#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>
#include <utility>

namespace ipybox::os {

/// The ABI of Landlock on this system; 0: there is none.
[[nodiscard]] int landlock_abi() noexcept;

/// The first ABI (Linux 6.12) whose domains keep signals in.
inline constexpr int landlock_abi_with_scopes = 6;

/// The rights of a domain to a file, or to everything below a directory.
enum class file_access {
    read,   ///< read, list and execute
    write,  ///< also change, make, remove and move, but make no devices
    device, ///< read, write and control a device that is there
};

/**
 * \brief The rules of a Landlock domain: what is not granted is refused to processes in it.
 * \details Files are opened only where they are granted; TCP ports are neither bound nor connected; no signal reaches a
 * process outside of the domain, and no connection an abstract Unix socket there. Metadata is not covered: the owner of
 * a file can change its mode and times (docs/sandbox.md).
 */
class landlock_rules {
  public:
    /// Without any grant. \par Errors errc::sandbox_unavailable — this system has not the ABI that it needs
    [[nodiscard]] static result<landlock_rules> make();

    /// \param path without links: one that code put there since it was looked at must not be followed
    /// \par Errors errc::io_error — the path cannot be opened, or granted
    [[nodiscard]] result<void> grant(std::filesystem::path const& path, file_access access);

    /// The descriptor that a process enters the domain with.
    [[nodiscard]] unique_fd release() && { return std::move(descriptor_); }

  private:
    explicit landlock_rules(unique_fd descriptor) : descriptor_(std::move(descriptor)) {}

    unique_fd descriptor_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/landlock.ipp>
#endif
