#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/executor_base.hpp>

#include <cli/run_options.hpp>

namespace ipybox::cli {

/// Registers the servers of `--mcp-config` and generates their APIs into `mcptools/` of the working directory.
[[nodiscard]] result<void> add_tools(executor_base& box, run_options const& options);

} // namespace ipybox::cli
