#pragma once

#include <ipybox/core/config.hpp>

#include <cstddef>
#include <string_view>

namespace ipybox {

/// A text whose middle is left out: views into it.
struct middle_cut {
    std::string_view head;
    std::string_view tail;    ///< empty where the whole text is the head
    std::size_t left_out = 0; ///< characters between them
};

/**
 * \brief Keeps the beginning and the end of a text, half of `most` characters each.
 * \details Both hold something: a table its columns, a traceback its exception. In text that is not UTF-8 every byte
 * that continues no character counts as one.
 */
[[nodiscard]] middle_cut cut_middle(std::string_view text, std::size_t most) noexcept;

/// Keeps the beginning alone.
[[nodiscard]] middle_cut cut_end(std::string_view text, std::size_t most) noexcept;

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/app/impl/middle_cut.ipp>
#endif
