#pragma once

#include <cli/exit_code.hpp>
#include <cli/mcp_options.hpp>
#include <cli/orphans.hpp>

namespace ipybox::cli {

/// Serves a client over standard input and output until it ends, or a signal comes.
[[nodiscard]] exit_code serve_mcp(mcp_options const& options, orphans const& left_behind);

} // namespace ipybox::cli
