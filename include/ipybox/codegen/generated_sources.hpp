#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ipybox::codegen {

/// A package on the disk.
struct generated_sources {
    /// Something about a tool that its server would want to mend. The package can be used all the same.
    struct notice {
        std::string tool; ///< its name; empty: the list as a whole
        std::string text; ///< a part that could not be translated exactly, for people
    };

    std::filesystem::path directory;  ///< `root_dir/server_name`
    std::vector<std::string> modules; ///< of the tools, in the order of the list
    std::vector<notice> notices;      ///< of the generation
};

} // namespace ipybox::codegen
