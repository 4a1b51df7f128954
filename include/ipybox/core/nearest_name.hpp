#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::detail {

/**
 * \brief The name that a misspelt word was meant to be; empty: none is like it.
 * \details One of three letters may be wrong, missing, too many, or exchanged with its neighbour. Else, the word and
 * the name have their beginning in common: the whole word, or at least half of it and four letters.
 */
[[nodiscard]] std::string nearest_name(std::string_view word, std::vector<std::string> const& names);

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/core/impl/nearest_name.ipp>
#endif
