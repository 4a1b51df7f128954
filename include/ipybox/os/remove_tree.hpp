#pragma once

#include <filesystem>

namespace ipybox::os {

/**
 * \brief Removes a directory and everything below it, also what code made hard to remove.
 * \details Directories that their owner may not read or change are opened up first. The depth of the tree does not
 * matter: what is deep is moved up, so that three descriptors are enough. No link is followed. Files that cannot be
 * removed (they are in use, or another user's) stay.
 * \return whether nothing is left
 */
[[nodiscard]] bool remove_tree(std::filesystem::path const& path) noexcept;

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/remove_tree.ipp>
#endif
