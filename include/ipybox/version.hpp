#pragma once

/** \file
 * The version of the library, the one place where it is written. CMake, Conan and vcpkg are checked against it.
 */

/// The first number of the version.
#define IPYBOX_VERSION_MAJOR 0
/// The second number of the version.
#define IPYBOX_VERSION_MINOR 1
/// The third number of the version.
#define IPYBOX_VERSION_PATCH 0
/// The version as text.
#define IPYBOX_VERSION_STRING "0.1.0"

namespace ipybox {

/// Semantic version of these headers; before 1.0 a new minor version may break source compatibility.
struct version {
    /// The first number. (The C library has a macro `major`.)
    static constexpr int major_number = IPYBOX_VERSION_MAJOR;
    /// The second number.
    static constexpr int minor_number = IPYBOX_VERSION_MINOR;
    /// The third number.
    static constexpr int patch_number = IPYBOX_VERSION_PATCH;
    /// The version as text.
    static constexpr char const* text = IPYBOX_VERSION_STRING;
};

} // namespace ipybox
