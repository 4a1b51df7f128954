#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/sandbox/sandbox_config.hpp>

#include <string_view>

namespace ipybox::detail {

/// Reads a configuration: `sandbox_config::parse`.
[[nodiscard]] result<sandbox_config> read_config(std::string_view text, std::string_view name);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/sandbox/impl/config_reader.ipp>
#endif
