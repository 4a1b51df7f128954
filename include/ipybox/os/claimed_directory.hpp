#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/temporary_directory.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>
#include <string_view>
#include <utility>

namespace ipybox::os {

/**
 * \brief A temporary_directory that does not outlive its process for long: where that was killed, the next one of the
 * same name removes it.
 * \details It is locked (flock(2)) as long as this object lives in the process that made it: one that is not locked
 * was left behind.
 */
class claimed_directory {
  public:
    /// \param name what the directory's name begins with; of one kind of directories
    /// \par Errors errc::io_error
    [[nodiscard]] static result<claimed_directory> make(std::string_view name);

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return directory_.path(); }

  private:
    claimed_directory(temporary_directory directory, unique_fd claim)
        : claim_(std::move(claim)), directory_(std::move(directory)) {}

    unique_fd claim_; ///< given up after the directory is gone
    temporary_directory directory_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/claimed_directory.ipp>
#endif
