#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/cgroup.hpp>
#include <ipybox/os/sandbox_limits.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace ipybox::detail {

/**
 * \brief The control groups of one supervisor, in a group of their own below `sandbox_limits::cgroup`.
 * \details The supervisor lives in one of them, without limits, and each of its kernels in another one, with the
 * limits. They go with the object.
 * \par Thread safety Safe.
 */
class supervisor_cgroups {
  public:
    /// Removes what hosts left behind that were killed, and makes the group of a supervisor.
    /// \par Errors errc::sandbox_unavailable — the text says what is missing, and what mends that
    [[nodiscard]] static result<std::shared_ptr<supervisor_cgroups>> make(sandbox_limits const& limits);

    /// The group in which the supervisor is to be.
    [[nodiscard]] os::cgroup const& of_supervisor() const noexcept { return *supervisor_; }

    /// Makes a group for a kernel and what it starts. \par Errors errc::sandbox_unavailable
    [[nodiscard]] result<std::shared_ptr<os::cgroup const>> make_for_kernel();

    /// Code must not write here: it would move itself to a group without limits.
    [[nodiscard]] std::filesystem::path const& hierarchy() const noexcept { return hierarchy_; }

  private:
    supervisor_cgroups(sandbox_limits const& limits, std::filesystem::path hierarchy,
                       std::shared_ptr<os::cgroup const> all, std::shared_ptr<os::cgroup const> supervisor);

    sandbox_limits const limits_;
    std::filesystem::path const hierarchy_;
    std::shared_ptr<os::cgroup const> const all_;
    std::shared_ptr<os::cgroup const> const supervisor_;
    std::atomic<std::uint64_t> kernels_{0};
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/supervisor_cgroups.ipp>
#endif
