#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <vector>

namespace ipybox {

/// A library that ipybox stands on.
struct library_version {
    /// The name of the library: "Asio".
    std::string name;
    /// Its version: "1.30.2".
    std::string version;
};

/// The libraries that ipybox was compiled with, the compiler, and the C++ and C libraries. OpenSSL and http_parser tell
/// the version that is loaded.
[[nodiscard]] std::vector<library_version> library_versions();

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/library_version.ipp>
#endif
