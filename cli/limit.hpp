#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/os/sandbox_limits.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {

/**
 * \brief Sets one limit as the command line has it: "memory=4G", "processes=500", "cpu-time=60", "file-size=1G",
 * "open-files=1000".
 * \details Sizes may end with K, M, G or T (powers of 1024), times are seconds; `none` takes a limit away.
 * \par Errors errc::invalid_argument — the text says what is expected
 */
[[nodiscard]] result<void> set_limit(sandbox_limits& limits, std::string_view text);

/// The names that `set_limit` knows.
[[nodiscard]] std::vector<std::string> limit_names();

} // namespace ipybox::cli
