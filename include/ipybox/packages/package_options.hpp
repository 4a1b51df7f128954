#pragma once

#include <ipybox/sandbox/sandbox_config.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace ipybox {

/// What sessions may do with a layer of packages.
enum class package_access {
    install, ///< import from it, and have packages installed into it
    import,  ///< import from it
};

/// How a package_layer is made. Members are given in this order.
struct package_options {
    /// Where the packages lie, and stay: sessions that come later may use them. Made where it is missing. Empty: a private one, which is removed with the layer.
    std::filesystem::path directory = {};

    package_access access = package_access::install; ///< of code, and of `install_package`

    /// URL of the index that pip looks at, with name and password where it asks for some. Empty: none, `wheels` alone count.
    std::string index = "https://pypi.org/simple";

    /// Directories of this machine with wheels, which pip looks at as well.
    std::vector<std::filesystem::path> wheels = {};

    /// The network of pip: hosts of files that are not the index's own (those of PyPI are known), addresses that are not public. Nothing is asked for.
    network_config network = {};

    /// How long one installation may take.
    std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

} // namespace ipybox
