#pragma once

/** \file
 * Functions of the application as tools of the code.
 */

#include <ipybox/tools/host_tool.hpp>
#include <ipybox/tools/host_tools.hpp>
#include <ipybox/tools/tool_context.hpp>
#include <ipybox/tools/tool_reply.hpp>
#include <ipybox/tools/tool_result.hpp>
#include <ipybox/tools/tool_type.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/tools.ipp>
#endif
