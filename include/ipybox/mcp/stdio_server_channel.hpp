#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_declaration.hpp>

/** \file
 * The body of `server::channel::stdio`.
 */

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/stdio_server_channel.ipp>
#endif
