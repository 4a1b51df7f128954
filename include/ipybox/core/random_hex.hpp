#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <string>

namespace ipybox {

/// Random bytes of the operating system, at most 256, in two hexadecimal digits each: for unique names and identifiers,
/// and for keys.
[[nodiscard]] std::string random_hex(std::size_t bytes);

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/random_hex.ipp>
#endif
