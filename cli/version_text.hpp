#pragma once

#include <string>

namespace ipybox::cli {

/// How much `--version` tells.
enum class detail_of_version {
    alone,    ///< that of the program
    libraries ///< also those of its libraries, and the interpreter that kernels would have
};

/// The text of `ipybox --version`, without the last line break.
[[nodiscard]] std::string version_text(detail_of_version detail);

} // namespace ipybox::cli
