#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_declaration.hpp>
#include <ipybox/mcp/stdio_server_channel.hpp>

/** \file
 * The class `server` with all of its bodies. Their parts include its declaration alone.
 */

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server.ipp>
#endif
