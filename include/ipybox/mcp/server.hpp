#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/server_declaration.hpp>

/** \file
 * The class `server` with all of its bodies. What they are made of includes its declaration alone.
 */

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/server.ipp>
#endif
