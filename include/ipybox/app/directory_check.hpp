#pragma once

#include <ipybox/app/finding.hpp>
#include <ipybox/core/config.hpp>

#include <filesystem>
#include <string>

namespace ipybox::detail {

/**
 * \brief The obstacle to making files in a directory, with the directory's name; empty: none.
 * \details A file is made there, since permissions do not tell all: root has every one, and makes nothing in /proc. Of
 * a directory that does not exist yet, the nearest one above it is tried.
 */
[[nodiscard]] std::string why_not_writable(std::filesystem::path const& directory);

/**
 * \brief Whether files can be made in a directory: makes one there, which has no name, or is removed.
 * \details Of a directory that does not exist yet, the nearest one above it is tried: the directory is made when it is
 * needed.
 */
[[nodiscard]] finding check_directory(std::string name, std::filesystem::path const& directory);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/directory_check.ipp>
#endif
