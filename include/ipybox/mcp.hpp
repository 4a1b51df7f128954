#pragma once

/** \file
 * MCP servers: how they start, a registry of them, and the server that a program is itself.
 */

#include <ipybox/mcp/registered_servers.hpp>
#include <ipybox/mcp/server.hpp>
#include <ipybox/mcp/server_params.hpp>
#include <ipybox/mcp/server_registry.hpp>

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/impl/mcp.ipp>
#endif
