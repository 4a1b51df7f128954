#pragma once

#include <ipybox/rules/impl/known_programs.hpp>
#include <ipybox/rules/program_word.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace ipybox::detail {

IPYBOX_DECL std::string_view base_name(std::string_view program) {
    return program.substr(program.rfind('/') + 1); // npos + 1 is 0
}

IPYBOX_DECL bool is_posix_shell(std::string_view program) {
    for (std::string_view const directory : {"/bin/", "/usr/bin/"}) {
        if (program.starts_with(directory)) program.remove_prefix(directory.size());
    }
    return program == "sh" || program == "bash" || program == "dash";
}

/// Whether the list has the program, whatever its directory and version: `/usr/bin/lua5.4`, `gcc-12`.
inline bool has_program(std::span<std::string_view const> names, std::string_view program) {
    auto name = base_name(program);
    if (std::binary_search(names.begin(), names.end(), name)) return true;
    while (!name.empty() && (name.back() == '.' || name.back() == '-' || (name.back() >= '0' && name.back() <= '9')))
        name.remove_suffix(1);
    return std::binary_search(names.begin(), names.end(), name);
}

IPYBOX_DECL bool takes_command(std::string_view program) {
    auto const name = base_name(program);
    // The dynamic linker runs any program; interpreters have variants in their names (`python3.12-dbg`).
    for (std::string_view const beginning : {"ld-linux", "ld-musl", "perl", "python"}) {
        if (name.starts_with(beginning)) return true;
    }
    return has_program(command_takers, name) || is_shell_state(name);
}

IPYBOX_DECL bool runs_others(std::string_view program) {
    return takes_command(program) || has_program(other_runners, program);
}

IPYBOX_DECL bool is_shell_state(std::string_view program) {
    return std::binary_search(shell_state.begin(), shell_state.end(), base_name(program));
}

IPYBOX_DECL bool takes_numbers(std::string_view program) {
    constexpr std::array<std::string_view, 7> names{"break", "continue", "exit", "print", "return", "shift", "ulimit"};
    return std::find(names.begin(), names.end(), program) != names.end();
}

IPYBOX_DECL bool is_plain_shell(std::string_view program) {
    constexpr std::array<std::string_view, 6> names{"ash", "bash", "busybox", "dash", "posh", "yash"};
    return std::find(names.begin(), names.end(), base_name(program)) != names.end();
}

IPYBOX_DECL bool is_plain_program(std::string_view program) {
    if (program == "[") return true; // `test`
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/@:%,=";
    if (program.empty() || program.find_first_not_of(plain) != std::string_view::npos) return false;
    if (program.starts_with("./") || program.starts_with('/')) program.remove_prefix(program.find('/') + 1);
    while (true) {
        auto const slash = program.find('/');
        auto const part = program.substr(0, slash);
        if (part.empty() || part == "." || part == "..") return false;
        if (slash == std::string_view::npos) return true;
        program.remove_prefix(slash + 1);
    }
}

} // namespace ipybox::detail
