#pragma once

#include <ipybox/core/result.hpp>

#include <filesystem>

namespace ipybox::detail {

/**
 * \brief Makes a directory for caches of code where it is missing, and marks it (https://bford.info/cachedir/).
 * \details Code can write to it, so that nothing else may read programs, modules or settings from it: a directory that
 * has files is taken only where it has the mark. Within the working directory the code makes it itself.
 * \param directory absolute; empty: there is nothing to do
 * \par Errors errc::invalid_argument — it is a link, or has files and no mark; errc::io_error — it cannot be made
 */
[[nodiscard]] result<void> make_cache_directory(std::filesystem::path const& directory,
                                                std::filesystem::path const& working_dir);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/kernel/impl/cache_directory.ipp>
#endif
