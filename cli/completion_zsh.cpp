#include <cli/completion.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ipybox::cli {
namespace {

/// Within single quotes, and with the characters escaped that _arguments takes for its own.
std::string zsh_text(std::string_view text, std::string_view special) {
    std::string result;
    for (char const c : text) {
        if (c == '\'') {
            result += "'\\''";
            continue;
        }
        if (special.find(c) != std::string_view::npos) result += '\\';
        result += c;
    }
    return result;
}

/// The action of a value (zshcompsys(1), _arguments).
std::string action_of(option_description const& option) {
    auto const words = joined(option.words);
    if (words.ends_with('=')) return R"({compadd -S "" -- )" + words + "}";
    if (!words.empty() && option.takes == value_kind::file)
        return R"x({_alternative "words\:word\:()x" + words + R"x()" "files\:file\:_files"})x";
    if (!words.empty()) return "(" + words + ")";
    if (option.takes == value_kind::file) return "_files";
    if (option.takes == value_kind::directory) return "_files -/";
    return " ";
}

std::string specs_of(option_description const& option) {
    std::string text;
    for (auto const& name : option.names) {
        text += "            '";
        if (option.repeatable)
            text += '*';
        else if (option.names.size() > 1)
            text += "(" + joined(option.names) + ")";
        text += name;
        if (option.takes != value_kind::none && name.starts_with("--")) text += '=';
        text += "[" + zsh_text(option.text, "[]\\:") + "]";
        if (option.takes != value_kind::none)
            text += ":" + zsh_text(option.placeholder, ":\\") + ":" + action_of(option);
        text += "' \\\n";
    }
    return text;
}

std::string specs_of(command_description const& command) {
    std::string text;
    for (auto const& option : command.options) text += specs_of(option);
    for (auto const& positional : command.positionals) {
        text += "            '";
        if (positional.repeatable) text += '*';
        text += ":" + positional.placeholder + ":" + action_of(positional) + "' \\\n";
    }
    return text;
}

} // namespace

std::string zsh_completion(command_description const& program) {
    auto const& name = program.name;
    std::string text =
        "#compdef " + name + "\n# zsh completion of " + name + ": source <(" + name +
        " completion zsh), or this file as _" + name + " in a directory of fpath\n\n_" + name +
        "() {\n    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C \\\n" +
        specs_of(program) + "            '1: :->command' \\\n            '*:: :->arguments' && return\n" +
        "    case $state in\n    command)\n        local -a commands=(\n";
    for (auto const& command : program.commands)
        text += "            '" + command.name + ":" + zsh_text(summary_of(command), ":\\") + "'\n";
    text += "        )\n        _describe command commands\n        ;;\n    arguments)\n        case $words[1] in\n";
    for (auto const& command : program.commands)
        text += "        " + command.name + ")\n            _arguments -s \\\n" + specs_of(command) +
                "            && return\n            ;;\n";
    return text + "        esac\n        ;;\n    esac\n}\n\nif [[ ${funcstack[1]} == _" + name + " ]]; then\n    _" +
           name + " \"$@\"\nelse\n    compdef _" + name + " " + name + "\nfi\n";
}

} // namespace ipybox::cli
