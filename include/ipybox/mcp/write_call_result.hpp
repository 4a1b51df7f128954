#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/mcp/call_result.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/server_declaration.hpp>

#include <string>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief Writes the `result` of `tools/call` as a version of the protocol has it.
 * \details Blocks that a version does not know become text: audio before 2025-03-26, resource links before 2025-06-18.
 * `structuredContent` goes to versions from 2025-06-18 on, where it is
 * an object or since 2026-07-28 any value; where no block is a text, it is one too. Invalid UTF-8 becomes U+FFFD.
 * \param more further members
 * \param meta further members of `_meta`
 */
[[nodiscard]] std::string write_call_result(call_result const& r, server::client_description const& client,
                                            std::vector<rpc_member> const& more = {},
                                            std::vector<rpc_member> const& meta = {});

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/write_call_result.ipp>
#endif
