#pragma once

#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/packages/package_layer.hpp>

#include <memory>
#include <utility>

namespace ipybox::detail {

/// Lets the kernels of a supervisor import from a layer, if there is one.
inline void add_packages(supervisor_options& options, std::shared_ptr<package_layer const> layer) {
    if (layer) options.package_dir = layer->path();
    options.packages = std::move(layer);
}

} // namespace ipybox::detail
