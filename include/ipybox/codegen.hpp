#pragma once

/** \file
 * Python packages for the tools that MCP servers list.
 */

#include <ipybox/codegen/call_style.hpp>
#include <ipybox/codegen/generate.hpp>
#include <ipybox/codegen/generate_sources.hpp>
#include <ipybox/codegen/module_names.hpp>
#include <ipybox/codegen/write_package.hpp>
