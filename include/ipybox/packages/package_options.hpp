#pragma once

#include <ipybox/sandbox/sandbox_config.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ipybox {

/// The access of sessions to a layer of packages.
enum class package_access {
    install, ///< import from it, and have packages installed into it
    import,  ///< import from it
};

/// How a package_layer is made. Members are given in this order.
struct package_options {
    /// The directory in which the packages lie, and stay: sessions that come later may use them. Made where it is
    /// missing. Empty: a private one, which is removed with the layer.
    std::filesystem::path directory = {};

    package_access access = package_access::install; ///< of code, and of `install_package`

    /// URL of the index that pip looks at, with name and password where it asks for some. Empty: none, `wheels` alone
    /// count.
    std::string index = "https://pypi.org/simple";

    /// Directories of this machine with wheels, which pip looks at as well.
    std::vector<std::filesystem::path> wheels = {};

    /// The network of pip: hosts of files that are not the index's own (those of PyPI are known), addresses that are
    /// not public. Nothing is asked for.
    sandbox_config::network_access network = {};

    /// How long one installation may take.
    std::chrono::milliseconds timeout = std::chrono::minutes(10);

    /// Bytes of the disk that the layer may take, with what pip fetches and unpacks meanwhile. An installation that
    /// takes more is ended (errc::package_layer_full). None: no limit.
    std::optional<std::uint64_t> size = std::uint64_t(20) << 30;
};

} // namespace ipybox
