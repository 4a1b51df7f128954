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
struct version_number {
    int major_number; ///< not `major`: the C library has a macro of that name
    /// The second number.
    int minor_number;
    /// The third number.
    int patch_number;
};

/// The version of the library.
inline constexpr version_number version{IPYBOX_VERSION_MAJOR, IPYBOX_VERSION_MINOR, IPYBOX_VERSION_PATCH};
/// The version of the library as text.
inline constexpr char const* version_string = IPYBOX_VERSION_STRING;

} // namespace ipybox
