#pragma once

#include <ipybox/core/config.hpp>

#include <string_view>

namespace ipybox::os {

/**
 * \brief Writes `rest` to a descriptor that waits. Returns 0, or the number of the error; `rest` is then what was not
 * written.
 * \details A write beyond the limit for files (RLIMIT_FSIZE) is the error EFBIG, and no signal.
 */
[[nodiscard]] int write_all(int descriptor, std::string_view& rest) noexcept;

} // namespace ipybox::os

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/os/impl/write_all.ipp>
#endif
