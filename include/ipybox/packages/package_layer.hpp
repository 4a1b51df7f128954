#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/claimed_directory.hpp>
#include <ipybox/packages/package_options.hpp>

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace ipybox {

/**
 * \brief A directory of Python packages behind those of the interpreter: kernels import from it, and cannot write to it
 * where they have a sandbox. pip fills it, outside of the kernel.
 * \details To be given to `executor_options::kernel.packages` or `runtime::options::kernel.packages`; several may share
 * one. Installed packages stay as they are: an installation that would need another version of it fails. A private
 * layer is removed with its last holder, the next kernel has a fresh one where the application makes one.
 * \par Thread safety Safe.
 */
class package_layer {
  public:
    /// \par Errors errc::invalid_argument — the index is not a URL of http or https, or names no host; the directory is
    /// a link, or behind one below the current directory; errc::io_error — the directory cannot be made
    [[nodiscard]] static result<std::shared_ptr<package_layer const>> make(package_options options = {});

    package_layer(package_layer const&) = delete;
    package_layer& operator=(package_layer const&) = delete;
    ~package_layer() = default;

    /// Absolute, without links.
    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

    /// With the hosts of the index among those of the network.
    [[nodiscard]] package_options const& options() const noexcept { return options_; }

    /// Whether the directory is still the one that was there at the beginning, and not a link or another one.
    [[nodiscard]] bool is_in_place() const noexcept;

  private:
    package_layer(package_options options, std::optional<os::claimed_directory> own, std::filesystem::path path);

    package_options options_;
    std::optional<os::claimed_directory> own_; ///< of a private layer
    std::filesystem::path path_;
    std::optional<std::pair<dev_t, ino_t>> identity_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/package_layer.ipp>
#endif
