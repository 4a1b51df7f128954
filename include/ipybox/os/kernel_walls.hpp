#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ipybox {

/**
 * \brief How the kernels of one sandbox are kept apart: what each of them has anew, and what they share.
 * \details A sandbox policy says so for `launch_spec::keeps_kernels_apart`. All paths are absolute and as they are
 * inside.
 */
struct kernel_walls {
    std::filesystem::path workspace; ///< the working directories of kernels lie in it; each kernel sees its own alone
    std::vector<std::filesystem::path> private_directories = {}; ///< each kernel has empty ones
    std::vector<std::filesystem::path> kept = {}; ///< paths in one of these directories that all kernels share
    std::uint64_t private_size = 0;               ///< bytes of each private directory; 0: what the system allows
};

} // namespace ipybox
