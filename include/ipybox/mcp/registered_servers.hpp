#pragma once

#include <string>
#include <vector>

namespace ipybox::mcp {

/// The outcome of registering the servers of a configuration file.
struct registered_servers {
    /// Under which they are registered, sorted.
    std::vector<std::string> names;

    /// A sentence for each that got another name than in the file, or was left out.
    std::vector<std::string> notices = {};
};

} // namespace ipybox::mcp
