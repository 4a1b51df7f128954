#pragma once

#include <ipybox/os/launch_spec.hpp>

#include <string>
#include <vector>

namespace ipybox::detail {

/// Takes variables out of the environment of the program, and of all that it starts.
inline void hide_variables(launch_spec& spec, std::vector<std::string> const& names) {
    for (auto const& name : names) spec.env.erase(name);
    spec.sandbox_variables.insert(spec.sandbox_variables.end(), names.begin(), names.end());
}

} // namespace ipybox::detail
