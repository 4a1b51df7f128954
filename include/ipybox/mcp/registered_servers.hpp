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

    /// The names in the file of those that were left out, as their entries cannot be used here.
    std::vector<std::string> left_out = {};
};

} // namespace ipybox::mcp
