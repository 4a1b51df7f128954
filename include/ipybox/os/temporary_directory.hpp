#pragma once

#include <ipybox/core/owning_process.hpp>
#include <ipybox/core/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace ipybox::os {

/**
 * \brief A directory below /tmp that is the user's alone (mode 0700), and goes with this object, and everything in it.
 * \details If processes still make files in it, its destructor tries for a second.
 */
class temporary_directory {
  public:
    /// \param name what the directory's name begins with
    /// \par Errors errc::io_error
    [[nodiscard]] static result<temporary_directory> make(std::string_view name);

    temporary_directory(temporary_directory&& other) noexcept;
    temporary_directory& operator=(temporary_directory&&) = delete;
    ~temporary_directory();

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

  private:
    explicit temporary_directory(std::string path) : path_(std::move(path)) {}

    ipybox::detail::owning_process owner_;
    std::filesystem::path path_;
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/temporary_directory.ipp>
#endif
