#pragma once

namespace ipybox {

/// What happens when a cell leaves the kernel in another working directory.
enum class cwd_policy {
    keep,   ///< the change stays
    restore ///< the kernel goes back after the cell and says so on stdout
};

} // namespace ipybox
