#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace ipybox::cli {

/// Values that an option takes besides the offered words.
enum class other_values {
    none, ///< or any text that its checks let through
    files
};

/**
 * \brief Words that an option takes, for the completion of shells. It refuses nothing: the option's checks do.
 * \details A validator, so that the words stand where the option is made, and completion finds them in CLI11's option
 * tree.
 */
[[nodiscard]] CLI::Validator offers(std::vector<std::string> const& words, other_values others = other_values::none);

/// The first parts of pairs.
template <class Pairs>
std::vector<std::string> names_in(Pairs const& pairs) {
    std::vector<std::string> names;
    names.reserve(pairs.size());
    for (auto const& pair : pairs) names.emplace_back(pair.first);
    return names;
}

/// The words of an option, and what else it takes.
struct offered_words {
    std::vector<std::string> words = {};
    other_values others = other_values::none;
};

[[nodiscard]] offered_words words_of(CLI::Option& option);

} // namespace ipybox::cli
