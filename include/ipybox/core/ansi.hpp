#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>

namespace ipybox {

/// The text without ANSI escape sequences (ECMA-48: control sequences, control strings, escapes of two and more
/// characters).
[[nodiscard]] std::string strip_ansi(std::string_view text);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/ansi.ipp>
#endif
