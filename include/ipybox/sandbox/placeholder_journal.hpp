#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/host_environment.hpp>
#include <ipybox/sandbox/guarded_path.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace ipybox::detail {

/**
 * \brief Files and directories that take the place of missing ones, so that a sandbox can mount something there.
 * \details They go with the sandbox that holds them. A list of them is in a file of the state directory, which is
 * locked as long as its host lives: what a killed host left behind is removed by the next one. Sandboxes may hold the
 * same ones; the last one removes them.
 * \par Thread safety Safe, between processes too.
 */
class placeholder_journal {
  public:
    /// In the state directory of the user: $XDG_STATE_HOME, or ~/.local/state; where none can be written to, a private
    /// one below /tmp.
    /// \par Errors of all functions: errc::io_error
    [[nodiscard]] static result<placeholder_journal> open(os::host_environment const& host);

    /// In a directory, which is made if need be.
    [[nodiscard]] static result<placeholder_journal> open_in(std::filesystem::path const& directory);

    /// The outcome of `sweep`.
    struct swept {
        std::vector<guarded_path> held;             ///< by others, which live
        std::vector<std::filesystem::path> removed; ///< that killed hosts had left behind
    };

    /// Removes what killed hosts left behind, if it is still as they made it.
    [[nodiscard]] result<swept> sweep() const;

    /// Makes those that are missing, where the user may do that, and keeps them until the last copy of the return value
    /// goes.
    [[nodiscard]] result<std::shared_ptr<void const>> hold(std::vector<guarded_path> const& guarded) const;

    [[nodiscard]] std::filesystem::path const& directory() const noexcept { return directory_; }

  private:
    explicit placeholder_journal(std::filesystem::path directory) : directory_(std::move(directory)) {}

    std::filesystem::path directory_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/placeholder_journal.ipp>
#endif
