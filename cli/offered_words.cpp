#include <cli/offered_words.hpp>

#include <sstream>
#include <string>
#include <string_view>

namespace ipybox::cli {
namespace {

// A validator has a name, which is shown nowhere.
constexpr std::string_view words_alone = "words: ";
constexpr std::string_view words_and_files = "words and files: ";

offered_words read_words(std::string_view list, other_values others) {
    offered_words offered{{}, others};
    std::istringstream rest{std::string(list)};
    for (std::string word; rest >> word;) offered.words.push_back(word);
    return offered;
}

} // namespace

CLI::Validator offers(std::vector<std::string> const& words, other_values others) {
    std::string name(others == other_values::files ? words_and_files : words_alone);
    for (auto const& word : words) name += word + ' ';
    return {[](std::string&) { return std::string(); }, "", name};
}

offered_words words_of(CLI::Option& option) {
    try {
        for (int i = 0;; ++i) { // CLI11 tells their number by throwing
            std::string_view const name = option.get_validator(i)->get_name();
            if (name.starts_with(words_alone)) return read_words(name.substr(words_alone.size()), other_values::none);
            if (name.starts_with(words_and_files))
                return read_words(name.substr(words_and_files.size()), other_values::files);
        }
    } catch (CLI::OptionNotFound const&) { return {}; }
}

} // namespace ipybox::cli
