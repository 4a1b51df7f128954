#pragma once

/** \file
 * The version of the library, the one place where it is written. CMake, Conan and vcpkg are checked against it.
 */

#define IPYBOX_VERSION_MAJOR 0
#define IPYBOX_VERSION_MINOR 1
#define IPYBOX_VERSION_PATCH 0
#define IPYBOX_VERSION_STRING "0.1.0"

namespace ipybox {

/// Semantic version of these headers; before 1.0 a new minor version may break source compatibility.
struct version_number {
    int major_number; ///< not `major`: the C library has a macro of that name
    int minor_number;
    int patch_number;
};

inline constexpr version_number version{IPYBOX_VERSION_MAJOR, IPYBOX_VERSION_MINOR, IPYBOX_VERSION_PATCH};
inline constexpr char const* version_string = IPYBOX_VERSION_STRING;

} // namespace ipybox
