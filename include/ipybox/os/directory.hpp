#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::os {

/**
 * \brief A directory that is open. Entries are named within it: no link is followed, and it stays the same when its
 * path comes to mean another one.
 * \par Errors of all functions: errc::io_error
 */
class directory {
  public:
    /// Opens a directory. Links on the way are followed.
    [[nodiscard]] static result<directory> open(std::filesystem::path const& path);

    /**
     * \brief Opens a directory, and makes it and those above it if need be.
     * \details Below `root` no link is followed, since code that runs there may have made it. If the path does not lead
     * through `root`, links are followed up to the last name.
     * \param path absolute
     * \param root absolute; a directory that code may write to
     */
    [[nodiscard]] static result<directory> make(std::filesystem::path const& path, std::filesystem::path const& root);

    /// Opens a directory below, and makes it if need be.
    [[nodiscard]] result<directory> make_below(std::string const& name) const;

    /// Removes a file.
    void remove(std::string const& name) const noexcept;

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
    [[nodiscard]] unique_fd release() && noexcept { return std::move(fd_); }

  private:
    directory(std::filesystem::path path, unique_fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

    std::filesystem::path path_; ///< for messages
    unique_fd fd_;
};

/**
 * \brief A directory that is made when it is needed, below one that is opened now.
 * \details Changes of its path in between make it fail, or move it along; it never leads elsewhere.
 */
class directory_to_make {
  public:
    /// The parameters are those of `directory::make`.
    directory_to_make(std::filesystem::path const& path, std::filesystem::path const& root);

    [[nodiscard]] result<directory const*> get();

  private:
    result<directory> at_;          ///< the deepest one that is open
    std::vector<std::string> rest_; ///< the names of those below it
};

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/directory.ipp>
#endif
