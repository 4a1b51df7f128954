#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <vector>

namespace ipybox::codegen {

/**
 * \brief Names of modules for tools, in their order.
 * \details The names that mcpygen makes of them, so that imports keep working: other characters become `_`, letters
 * lower case. If that cannot be the name of a module, or is another tool's, it is changed; a tool whose name needs no
 * change keeps it.
 */
[[nodiscard]] std::vector<std::string> module_names(std::vector<std::string> const& tools);

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/module_names.ipp>
#endif
