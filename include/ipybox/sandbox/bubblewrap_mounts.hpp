#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/file_identity.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/// The directories of the host that private and empty ones replace.
[[nodiscard]] std::vector<std::filesystem::path> private_directories();

/**
 * \brief The mounts over the read-only root and the private directories. The innermost mount decides about a path.
 * \details Paths that are added may have links, the mounts have none.
 */
class bubblewrap_mounts {
  public:
    explicit bubblewrap_mounts(std::vector<std::filesystem::path> const& private_dirs);

    /**
     * \brief The path without links, where it can be opened at all.
     * \param what what texts of errors call it
     * \par Errors errc::invalid_argument
     */
    [[nodiscard]] result<std::filesystem::path> openable(std::filesystem::path const& path,
                                                         std::string_view what) const;

    /// A directory that code can work in, without links. \par Errors errc::invalid_argument
    [[nodiscard]] result<std::filesystem::path> working_directory(std::filesystem::path const& path) const;

    /// A file, or what lies in a directory, cannot be read, unless that is opened. Paths that were opened themselves
    /// are left as they are.
    void close(std::filesystem::path const& real);

    /// Returns the path without links.
    result<std::filesystem::path> open_writable(std::filesystem::path const& path, std::string_view what);

    /// It can be read, also where its surroundings cannot; where these can be written to, so can it. Paths that were
    /// closed themselves are left as they are.
    void open_readable(std::filesystem::path const& real);

    /// It can be read and not written. Missing paths are left as they are.
    [[nodiscard]] result<void> add_readable(std::filesystem::path const& path);

    /// It is written to by nothing, where it can be seen at all. Missing paths, and writable directories themselves,
    /// are left as they are.
    void add_read_only(std::filesystem::path const& path);

    /// Reading the file fails, by that name, and a directory is empty; to be added after all others. Paths that cannot
    /// be seen anyway are left as they are.
    void add_hidden(std::filesystem::path const& path);

    /// Paths in a directory have the same rules by the second name of that; to be called after all is added.
    void mirror_second_names();

    /// Whether it can be written to.
    [[nodiscard]] bool in_writable(std::filesystem::path const& real) const;

    void append_to(std::vector<std::string>& argv) const;

    /// The files that are found by the paths inside. \par Errors errc::io_error — a path has been exchanged for a link
    /// since it was added
    [[nodiscard]] result<std::vector<os::file_identity>> places() const;

  private:
    enum class kind { writable, read_only, as_around, masked, closed };

    struct mount {
        std::filesystem::path source;
        kind as;
    };
    using mounts = std::map<std::filesystem::path, mount>; ///< a parent before what lies in it

    [[nodiscard]] mounts::const_iterator innermost(std::filesystem::path path) const;
    [[nodiscard]] bool is_needed(std::filesystem::path const& destination, kind as) const;
    [[nodiscard]] bool is_mount(std::filesystem::path const& destination) const;
    [[nodiscard]] bool is_hidden(std::filesystem::path const& path) const;
    void add(std::filesystem::path const& given, std::filesystem::path const& real, kind as);
    void insert(std::filesystem::path destination, std::filesystem::path const& source, kind as);
    void append_pins_to(std::vector<std::string>& argv) const;

    std::vector<std::filesystem::path> hidden_; ///< private directories
    mounts mounts_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/bubblewrap_mounts.ipp>
#endif
