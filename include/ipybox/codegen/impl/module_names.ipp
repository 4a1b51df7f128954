#pragma once

#include <ipybox/codegen/impl/python_name.ipp>
#include <ipybox/codegen/module_names.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace ipybox::codegen {

IPYBOX_DECL std::vector<std::string> detail::module_names(std::vector<std::string> const& tools) {
    auto order = detail::indices(tools.size());
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return std::tie(tools[a], a) < std::tie(tools[b], b); });
    return detail::distinct_names(
        tools, order, [](std::string const& tool) { return detail::module_name(tool) == tool; }, detail::module_name);
}

} // namespace ipybox::codegen
