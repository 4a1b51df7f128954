#pragma once

#include <ipybox/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox {

/**
 * \brief A pattern for text: `*` stands for any run of characters, also none; `\` takes the next character as it is.
 * \details Everything else is itself. Matching is by bytes, and from the first to the last of them.
 */
class wildcard {
  public:
    /// Everything.
    wildcard() : wildcard("*") {}

    explicit wildcard(std::string_view pattern);

    /// The pattern that `text` alone matches.
    [[nodiscard]] static wildcard exactly(std::string_view text);

    [[nodiscard]] bool matches(std::string_view text) const;

    /// True where only one text matches.
    [[nodiscard]] bool is_exact() const noexcept { return pieces_.size() == 1; }

    /// As it was written.
    [[nodiscard]] std::string const& pattern() const noexcept { return pattern_; }

  private:
    std::string pattern_;
    std::vector<std::string> pieces_; ///< what stands between the stars; never empty
};

} // namespace ipybox

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/rules/impl/wildcard.ipp>
#endif
