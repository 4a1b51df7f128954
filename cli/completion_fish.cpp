#include <cli/completion.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {
namespace {

/// Within single quotes (fish, "Quotes").
std::string fish_text(std::string_view text) {
    std::string result = "'";
    for (char const c : text) {
        if (c == '\'' || c == '\\') result += '\\';
        result += c;
    }
    return result + "'";
}

/// The value of an option, or of a positional argument.
std::string value_of(option_description const& option) {
    std::string text;
    if (!option.words.empty()) text += " -a " + fish_text(joined(option.words));
    if (option.takes == value_kind::directory) text += " -a '(__fish_complete_directories)'";
    if (option.takes == value_kind::file) text += " -F";
    return text;
}

std::string lines_of(std::string const& begin, command_description const& command) {
    std::string text;
    for (auto const& option : command.options) {
        text += begin;
        for (auto const& name : option.names)
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        // -x: with a value, and without files unless -F follows
        if (option.takes != value_kind::none)
            text += (option.takes == value_kind::file ? " -r" : " -x") + value_of(option);
        text += " -d " + fish_text(option.text) + "\n";
    }
    if (!command.positionals.empty())
        if (auto const value = value_of(command.positionals.front()); !value.empty()) text += begin + value + "\n";
    return text;
}

} // namespace

std::string fish_completion(command_description const& program) {
    auto const complete = "complete -c " + program.name;
    std::string text = "# fish completion of " + program.name + ": " + program.name + " completion fish | source\n\n" +
                       complete + " -f\n" + lines_of(complete + " -n __fish_use_subcommand", program);
    for (auto const& command : program.commands)
        text +=
            complete + " -n __fish_use_subcommand -a " + command.name + " -d " + fish_text(summary_of(command)) + "\n";
    for (auto const& command : program.commands)
        text += lines_of(complete + " -n '__fish_seen_subcommand_from " + command.name + "'", command);
    return text;
}

} // namespace ipybox::cli
