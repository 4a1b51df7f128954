#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <vector>

namespace ipybox::codegen::detail {

/// Says what `generated_package::module_names` says.
[[nodiscard]] std::vector<std::string> module_names(std::vector<std::string> const& tools);

} // namespace ipybox::codegen::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/module_names.ipp>
#endif
