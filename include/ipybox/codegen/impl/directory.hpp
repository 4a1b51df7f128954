#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/directory.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen::detail {

/// The kind of file that has a name.
enum class entry_kind { nothing, directory, file, other };

/**
 * \brief A directory that is open. Entries are named within it: no link is followed, and it stays the same when its
 * path comes to mean another one.
 * \par Errors of all functions: errc::io_error
 */
class directory {
  public:
    /**
     * \brief Opens a directory, and makes it and those above it if need be, as os::directory::make does.
     * \param code_dir its root; where the path does not lead through it, that is the current directory
     */
    [[nodiscard]] static result<directory> make(std::filesystem::path const& path,
                                                std::filesystem::path const& code_dir);

    [[nodiscard]] result<directory> open(std::string const& name) const;
    /// For the owner alone; there must be nothing of this name.
    [[nodiscard]] result<directory> make_below(std::string const& name) const;

    [[nodiscard]] result<entry_kind> kind_of(std::string const& name) const;
    [[nodiscard]] result<std::vector<std::string>> names() const;

    /// Up to `limit` bytes of a file; empty where there is none.
    [[nodiscard]] result<std::optional<std::string>> read(std::string const& name, std::size_t limit) const;
    /// Writes a new file. It is not on the disk before `flush_all`.
    [[nodiscard]] result<void> write(std::string const& name, std::string_view text) const;
    /// Its entries are on the disk.
    [[nodiscard]] result<void> flush() const;
    /// All of its file system is on the disk. For a hundred files that is one wait, where each of them would be one.
    [[nodiscard]] result<void> flush_all() const;

    /// `from` becomes `to`; nothing may be there.
    [[nodiscard]] result<void> rename(std::string const& from, std::string const& to) const;
    /// `from` becomes `to`, whatever file is there.
    [[nodiscard]] result<void> replace(std::string const& from, std::string const& to) const;
    /// Each takes the other's name, in one step where the file system can.
    [[nodiscard]] result<void> exchange(std::string const& a, std::string const& b) const;
    /// Removes a file, or a directory with everything in it, down to 64 levels.
    [[nodiscard]] result<void> remove(std::string const& name) const;

    /// Holds a lock of this name on the directory, as one process at a time can, until the result is gone. Its file
    /// lies elsewhere: code that can write to the directory could hold it.
    [[nodiscard]] result<os::unique_fd> lock(std::string const& name, std::chrono::milliseconds patience) const;

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

  private:
    directory(std::filesystem::path path, os::unique_fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
    [[nodiscard]] result<void> remove(std::string const& name, int levels) const;
    [[nodiscard]] tl::unexpected<error> refused(std::string_view what, std::string const& name) const;

    std::filesystem::path path_; ///< for messages
    os::unique_fd fd_;
};

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/directory.ipp>
#endif
