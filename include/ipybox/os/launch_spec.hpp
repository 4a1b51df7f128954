#pragma once

#include <ipybox/core/config.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ipybox {

using environment = std::map<std::string, std::string>;

/**
 * \brief What is to be started and what it needs: a plain value that sandbox policies transform.
 * \details A policy puts itself around `argv`; the paths say what the program must be able to reach from inside.
 */
struct launch_spec {
    std::vector<std::string> argv;                    ///< program (absolute path) and arguments
    environment env;                                  ///< the whole environment, nothing is inherited
    std::filesystem::path working_dir;                ///< absolute; also writable
    std::vector<std::filesystem::path> writable = {}; ///< further absolute paths that are written to
    std::vector<std::filesystem::path> readable =
        {};             ///< absolute paths that must be seen even where others are hidden (interpreter, packages)
    int control_fd = 3; ///< number of the control descriptor inside; a policy may set another
};

} // namespace ipybox
