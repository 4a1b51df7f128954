#pragma once

/** \file
 * Python packages for the tools that MCP servers list.
 */

#include <ipybox/codegen/generate.hpp>
#include <ipybox/codegen/generate_options.hpp>
#include <ipybox/codegen/generated_package.hpp>
#include <ipybox/codegen/generated_sources.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/codegen.ipp>
#endif
