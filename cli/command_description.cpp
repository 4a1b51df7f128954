#include <cli/command_description.hpp>
#include <cli/offered_words.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::cli {
namespace {

/// Lines become blanks.
std::string in_one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

value_kind kind_of(std::string_view placeholder, other_values others) {
    if (placeholder == "DIR") return value_kind::directory;
    if (placeholder == "FILE" || placeholder == "PATH" || others == other_values::files) return value_kind::file;
    return value_kind::text;
}

std::vector<std::string> names_with_dashes(CLI::Option const& option) {
    std::vector<std::string> names;
    for (auto const& name : option.get_snames()) names.push_back("-" + name);
    for (auto const& name : option.get_lnames()) names.push_back("--" + name);
    return names;
}

option_description describe_option(CLI::Option& option) {
    option_description described{.names = names_with_dashes(option), .text = in_one_line(option.get_description())};
    described.required = option.get_required();
    if (option.get_items_expected_max() == 0) return described;
    auto offered = words_of(option);
    described.placeholder = option.get_positional() ? option.get_name(true) : option.get_type_name();
    described.takes = kind_of(described.placeholder, offered.others);
    described.words = std::move(offered.words);
    described.repeatable = option.get_expected_max() > 1;
    return described;
}

} // namespace

command_description describe(CLI::App& app) {
    command_description described{app.get_name(), app.get_description(), app.get_footer()};
    auto const is_shown = [](CLI::Option* option) { return !option->get_group().empty(); };
    for (auto* option : app.get_options(is_shown))
        (option->get_positional() ? described.positionals : described.options).push_back(describe_option(*option));
    for (auto* command : app.get_subcommands([](CLI::App*) { return true; }))
        if (!command->get_group().empty()) described.commands.push_back(describe(*command));
    return described;
}

std::string joined(std::vector<std::string> const& words, std::string_view separator) {
    std::string text;
    for (auto const& word : words) text.append(text.empty() ? "" : separator).append(word);
    return text;
}

std::string summary_of(command_description const& command) {
    auto const about = in_one_line(command.about);
    auto const end = about.find(". ");
    auto summary = about.substr(0, end);
    if (summary.ends_with('.')) summary.pop_back();
    return summary;
}

} // namespace ipybox::cli
