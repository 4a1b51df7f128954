#pragma once

#include <ipybox/app/program_version.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/program_output.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

/// Digits with dots between them, and what may follow: "3.11.2", "24.04-beta1".
inline bool is_version(std::string_view word) {
    auto const digits = word.find_first_not_of("0123456789");
    return digits != 0 && digits != std::string_view::npos && word[digits] == '.' && digits + 1 < word.size() &&
           word[digits + 1] >= '0' && word[digits + 1] <= '9';
}

IPYBOX_DECL std::string version_in(std::string_view said) {
    constexpr std::string_view blanks = " \t\r\n,;()";
    while (!said.empty()) {
        auto const begin = said.find_first_not_of(blanks);
        if (begin == std::string_view::npos) break;
        said.remove_prefix(begin);
        auto word = said.substr(0, said.find_first_of(blanks));
        said.remove_prefix(word.size());
        if (word.starts_with('v')) word.remove_prefix(1);
        if (is_version(word)) return std::string(word);
    }
    return {};
}

/// The variables that Node and uv look at. Those of the application are nothing to a program that is merely asked for
/// its version.
inline environment environment_of_programs(os::host_programs const& host) {
    environment env{{"PATH", host.search_path()}};
    for (auto const* name : {"HOME", "LANG"})
        if (auto const value = host.environment().find(name)) env.emplace(name, *value);
    return env;
}

IPYBOX_DECL finding find_versioned_program(os::host_programs const& host, std::string const& name,
                                           std::chrono::milliseconds bound) {
    finding found{.name = name, .state = finding_state::fails};
    found.path = host.find(name);
    if (found.path.empty()) {
        auto const why = host.passed_over(name);
        found.gap = why.empty() ? "there is no " + name + " on PATH" : why;
        return found;
    }
    auto const said =
        os::program_output({{found.path.string(), "--version"}, environment_of_programs(host), "/"}, bound);
    if (!said) {
        found.gap = said.error().text();
        return found;
    }
    found.version = version_in(*said);
    if (found.version.empty()) {
        auto const line = said->substr(0, said->find('\n'));
        found.gap = name + " --version said \"" + line.substr(0, 200) + "\" and no version";
        return found;
    }
    found.state = finding_state::works;
    return found;
}

} // namespace ipybox::detail
