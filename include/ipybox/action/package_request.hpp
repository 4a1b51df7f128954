#pragma once

#include <ipybox/action/action_id.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace ipybox::detail {

/// The package of an MCP server is to be imported, or all packages are to be searched.
struct package_request {
    action_id id = 0;
    std::string server; ///< empty: all
    bool waits = true;  ///< for packages that are not there yet
    std::size_t size = 0;
};

/// Why the package of each server is not there; empty: it is.
using package_states = std::map<std::string, std::string>;

} // namespace ipybox::detail
