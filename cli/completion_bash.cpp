#include <cli/completion.hpp>

#include <string>
#include <vector>

namespace ipybox::cli {
namespace {

std::vector<std::string> command_names(std::vector<command_description> const& commands) {
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (auto const& command : commands) names.push_back(command.name);
    return names;
}

/// Offers for a value: words in `words`, the kind of paths in `paths`.
std::string offer_of(option_description const& option) {
    std::string offer = "words='" + joined(option.words) + "'";
    if (option.takes == value_kind::file) offer += " paths=-f";
    if (option.takes == value_kind::directory) offer += " paths=-d";
    return offer;
}

/// Offers for the value of an option, and for other places.
std::string offers_of(command_description const& command) {
    std::string values;
    std::vector<std::string> names;
    for (auto const& option : command.options) {
        names.insert(names.end(), option.names.begin(), option.names.end());
        if (option.takes != value_kind::none)
            values += "            " + joined(option.names, " | ") + ") " + offer_of(option) + " ;;\n";
    }
    std::string argument = ":";
    if (!command.positionals.empty()) argument = offer_of(command.positionals.front());
    if (!command.commands.empty()) argument = "words='" + joined(command_names(command.commands)) + "'";
    return "        case $previous in\n" + values +
           "            *)\n                if [[ $current == -* ]]; then words='" + joined(names) + "'; else " +
           argument + "; fi\n                ;;\n        esac\n";
}

} // namespace

std::string bash_completion(command_description const& program) {
    auto const& name = program.name;
    std::string text = "# bash completion of " + name + ": source <(" + name + " completion bash)\n\n_" + name +
                       R"(() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= words= paths= i
    # `--option=value` comes as three words
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
    done
    case $command in
)";
    for (auto const& command : program.commands)
        text += "    " + command.name + ")\n" + offers_of(command) + "        ;;\n";
    text += "    '')\n" + offers_of(program) + R"(        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ -n $paths ]]; then
        local found
        mapfile -t found < <(compgen "$paths" -- "$current")
        COMPREPLY+=("${found[@]}")
        compopt -o filenames 2>/dev/null
    fi
    # the beginning of a value, as `memory=`
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}

complete -F _)" +
            name + " " + name + "\n";
    return text;
}

} // namespace ipybox::cli
