#pragma once

namespace ipybox {

/// The treatment of a cell that leaves the kernel in another working directory.
enum class cwd_policy {
    keep,   ///< the change stays
    restore ///< the kernel goes back after the cell and says so on stdout
};

} // namespace ipybox
