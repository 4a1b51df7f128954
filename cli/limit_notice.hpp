#pragma once

#include <cli/run_options.hpp>

#include <string>

namespace ipybox::cli {

/// Why the limit of processes that was asked for has no effect here; empty: it has one, or was not asked for.
[[nodiscard]] std::string notice_about_limits(run_options const& options);

} // namespace ipybox::cli
