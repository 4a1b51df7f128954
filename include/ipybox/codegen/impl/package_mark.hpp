#pragma once

#include <ipybox/core/json_census.hpp>

#include <cstddef>
#include <string_view>

namespace ipybox::codegen::detail {

/// The generator that `_schemas.json` names. A directory with such a file is ours and may be replaced.
inline constexpr std::string_view generator_mark = "ipybox codegen 1";

/// The bounds of `_schemas.json`. Code can write it, and the host reads it when the package is generated anew.
inline constexpr ipybox::detail::json_bounds largest_list{std::size_t(16) << 20, 1'000'000};

} // namespace ipybox::codegen::detail
