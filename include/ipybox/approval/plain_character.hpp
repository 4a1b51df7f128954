#pragma once

#include <ipybox/core/config.hpp>

namespace ipybox::detail {

/**
 * \brief True for what every terminal and every font shows as one visible character behind the one before, and for the
 * blank.
 * \details A list of what is known to be so, and not of what is not: Unicode grows. Ends of CJK blocks that are not
 * assigned yet are shown as boxes.
 */
[[nodiscard]] bool is_plain_character(char32_t code);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/approval/impl/plain_character.ipp>
#endif
