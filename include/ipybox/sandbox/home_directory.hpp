#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>

namespace ipybox::detail {

/// The home directory of the user: HOME, or what the system knows; empty where there is none.
[[nodiscard]] std::filesystem::path home_directory();

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/home_directory.ipp>
#endif
