#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <filesystem>

namespace ipybox::os {

/// Opens a path that goes through no link, as a place (O_PATH): nothing of it can be read or written. None: `errno`
/// says why.
[[nodiscard]] unique_fd open_without_links(std::filesystem::path const& path);

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/open_without_links.ipp>
#endif
