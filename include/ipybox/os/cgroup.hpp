#pragma once

#include <ipybox/core/exit_status.hpp>
#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::os {

/**
 * \brief A control group of version 2 (cgroups(7)) that this process has made.
 * \details The destructor ends what still runs in it and in the groups below it, and removes them. In a fork of the
 * process that made it, it does nothing.
 * \par Thread safety Safe: nothing changes after it is made.
 */
class cgroup {
  public:
    /// Makes a group, whose directory must not exist. Its end waits for the ends of its processes, no longer than
    /// `patience`.
    /// \par Errors errc::sandbox_unavailable — the text says why
    [[nodiscard]] static result<std::shared_ptr<cgroup const>> make(std::filesystem::path directory,
                                                                    std::chrono::milliseconds patience);

    cgroup(cgroup const&) = delete;
    cgroup& operator=(cgroup const&) = delete;
    ~cgroup();

    [[nodiscard]] std::filesystem::path const& directory() const noexcept { return directory_; }

    /// Limits its memory, swap included. A group that exceeds the limit is ended as a whole. \par Errors
    /// errc::sandbox_unavailable
    [[nodiscard]] result<void> limit_memory(std::uint64_t bytes) const;

    /// Limits the number of its processes and threads: beyond it the system starts none (EAGAIN). \par Errors
    /// errc::sandbox_unavailable
    [[nodiscard]] result<void> limit_processes(std::uint64_t number) const;

    /// A file by which processes enter the group: those that write "0" to it. The rights of the process that has opened
    /// it count.
    /// \par Errors errc::sandbox_unavailable
    [[nodiscard]] result<unique_fd> entrance() const;

    /// Its limit of memory, if the system has ended processes because of that one.
    [[nodiscard]] std::optional<exit_status::exceeded_limit> exceeded_memory() const;

  private:
    cgroup(std::filesystem::path directory, std::chrono::milliseconds patience)
        : directory_(std::move(directory)), patience_(patience) {}

    [[nodiscard]] result<void> set(char const* file, std::string const& value) const;

    ipybox::detail::owning_process owner_;
    std::filesystem::path const directory_;
    std::chrono::milliseconds const patience_;
};

/// Lets groups below a directory have limits, by these controllers: "+memory +pids". \par Errors
/// errc::sandbox_unavailable
[[nodiscard]] result<void> give_controllers(std::filesystem::path const& directory, std::string const& controllers);

/// Ends the processes of a group and of those below it, and removes them; false where some were left when the bound had
/// passed.
bool remove_cgroup(std::filesystem::path const& directory, std::chrono::milliseconds bound) noexcept;

/// The limit of memory of a group, if the system has ended processes because of that one.
[[nodiscard]] std::optional<exit_status::exceeded_limit> exceeded_memory_of(std::filesystem::path const& directory);

/// A name for a group that no other process gives, and that says whose it is: the pid namespace, the number and the
/// start of this process.
[[nodiscard]] std::string new_cgroup_name();

/// Whether a name was given by a process of this pid namespace that has ended.
[[nodiscard]] bool is_stale_cgroup_name(std::string const& name);

/// Removes the groups in a directory that processes which have ended left behind, no longer than the bound.
void remove_stale_cgroups(std::filesystem::path const& directory, std::chrono::milliseconds bound) noexcept;

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/cgroup.ipp>
#endif
