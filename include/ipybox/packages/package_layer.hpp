#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/packages/installation.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {

namespace os {
class claimed_directory;
} // namespace os

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
    /// The rights of sessions to a layer.
    enum class permission {
        install, ///< import from it, and have packages installed into it
        import,  ///< import from it
    };

    /// How a layer is made. Members are given in this order.
    struct options {
        /// The directory in which the packages lie, and stay: sessions that come later may use them. Made where it is
        /// missing. Empty: a private one, which is removed with the layer.
        std::filesystem::path directory = {};

        /// The access of code, and of `install_package`.
        permission access = permission::install;

        /// URL of the index that pip looks at, with name and password where it asks for some; its host may have any
        /// address, also one of this machine. Empty: none, `wheels` alone count.
        std::string index = "https://pypi.org/simple";

        /// Directories of this machine with wheels, which pip looks at as well.
        std::vector<std::filesystem::path> wheels = {};

        /// The network of pip: hosts of files that are not the index's own (those of PyPI are known), addresses that
        /// are not public. Nothing is asked for.
        sandbox_config::network_access network = {};

        /// How long one installation may take.
        std::chrono::milliseconds timeout = std::chrono::minutes(10);

        /// Bytes of the disk that the layer may take, with what pip fetches and unpacks meanwhile. An installation that
        /// takes more is ended (errc::package_layer_full). None: no limit.
        std::optional<std::uint64_t> size = std::uint64_t(20) << 30;

        /// Certificates of authorities that pip trusts, a file in PEM format: as that of a company's proxy. Empty: what
        /// the user has named for pip and others (PIP_CERT, REQUESTS_CA_BUNDLE, SSL_CERT_FILE, `cert` of pip.conf),
        /// else what the system has.
        std::filesystem::path certificates = {};
    };

    /// An installed package, as its metadata name it.
    using package = detail::installed_package;

    /// The result of an installation.
    using installation = detail::installation;

    /// \par Errors errc::invalid_argument — the index is not a URL of http or https, or names no host; there are no
    /// `certificates` of that name; the directory is a link, or behind one below the current directory; errc::io_error
    /// — the directory cannot be made
    [[nodiscard]] static result<std::shared_ptr<package_layer const>> make(options chosen);

    /// A private layer with the packages of PyPI.
    [[nodiscard]] static result<std::shared_ptr<package_layer const>> make();

    package_layer(package_layer const&) = delete;
    package_layer& operator=(package_layer const&) = delete;
    ~package_layer() = default;

    /// Absolute, without links.
    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

    /// With the hosts of the index among those of the network.
    [[nodiscard]] options const& get_options() const noexcept { return options_; }

    /// Whether the directory is still the one that was there at the beginning, and not a link or another one.
    [[nodiscard]] bool is_in_place() const noexcept;

  private:
    package_layer(options chosen, std::shared_ptr<os::claimed_directory const> own, std::filesystem::path path);

    options options_;
    std::shared_ptr<os::claimed_directory const> own_; ///< of a private layer
    std::filesystem::path path_;
    std::optional<std::pair<dev_t, ino_t>> identity_;
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/packages/impl/package_layer.ipp>
#endif
