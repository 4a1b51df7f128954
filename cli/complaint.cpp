#include <ipybox/core/nearest_name.hpp>

#include <cli/command_description.hpp>
#include <cli/complaint.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {
namespace {

/// Those that the help shows.
std::vector<std::string> names_of_commands(CLI::App const& program) {
    std::vector<std::string> names;
    for (auto const* command : program.get_subcommands([](CLI::App const*) { return true; }))
        if (!command->get_group().empty()) names.push_back(command->get_name());
    return names;
}

std::vector<std::string> names_of_options(CLI::App const& command) {
    std::vector<std::string> names;
    for (auto const* option : command.get_options())
        if (!option->get_group().empty())
            for (auto const& name : option->get_lnames()) names.push_back(name);
    return names;
}

/// The options of the command that its unknown arguments resemble: "--timeout, --working-dir"
std::string meant_options(CLI::App const& command) {
    std::vector<std::string> meant;
    for (auto const& argument : command.remaining()) {
        auto const begin = argument.find_first_not_of('-');
        if (begin == 0 || begin == std::string::npos) continue;
        auto const written = std::string_view(argument).substr(begin);
        auto const name = detail::nearest_name(written.substr(0, written.find('=')), names_of_options(command));
        if (!name.empty()) meant.push_back("--" + name);
    }
    return joined(meant, ", ");
}

/// The arguments that a command does not know, in the order in which they were given; CLI11 has it reversed.
std::string unknown_arguments(CLI::App const& command) {
    auto const unknown = command.remaining();
    std::string text = unknown.size() == 1 ? "The following argument was not expected: "
                                           : "The following arguments were not expected: ";
    text += joined(unknown);
    auto const meant = meant_options(command);
    if (!meant.empty()) text += "; did you mean " + meant + '?';
    if (command.get_name() == "run" && command.count("FILE") > 0) // they may have been meant for the code
        text += std::string(meant.empty() ? "; to" : " To") + " pass it to the code: ipybox run FILE -- ARG";
    return text;
}

std::string no_command(CLI::App const& program) {
    auto const strangers = program.remaining();
    auto const commands = names_of_commands(program);
    std::string text = "a command is missing";
    std::string meant;
    if (!strangers.empty()) {
        text = "'" + strangers.front() + "' is no command";
        meant = detail::nearest_name(strangers.front(), commands);
    }
    text += meant.empty() ? "; there" : ": did you mean " + meant + "? There";
    return text + " are " + joined(commands, ", ") + ". To run a file: ipybox run FILE";
}

std::string what_is_wrong(CLI::App const& program, CLI::App const* command, CLI::Error const& error) {
    if (dynamic_cast<CLI::RequiresError const*>(&error) != nullptr) return error.what();
    if (!command) return no_command(program);
    bool const is_unknown = dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr;
    return is_unknown ? unknown_arguments(*command) : error.what();
}

} // namespace

std::string complaint_about(CLI::App const* program, CLI::Error const& error) {
    auto const commands = program->get_subcommands();
    auto const* const command = commands.empty() ? nullptr : commands.front();
    auto const whole = "ipybox" + (command ? ' ' + command->get_name() : std::string());
    return "ipybox: " + what_is_wrong(*program, command, error) + "\n`" + whole + " --help` tells more.\n";
}

} // namespace ipybox::cli
