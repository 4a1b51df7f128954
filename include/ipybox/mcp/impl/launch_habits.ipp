#pragma once

#include <ipybox/mcp/launch_habits.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ipybox::mcp {
namespace detail {

/// The meaning of the first argument that is not an option.
enum class first_word { file, name_of_code };

/// An interpreter that leaves the directory alone where it is told which file to run. Options are separated by blanks;
/// those of no column use the directory.
struct known_interpreter {
    std::string_view name; ///< a version may follow: python3.12
    first_word runs;
    std::string_view isolating;                       ///< with one of them the directory does not count
    std::string_view harmless;                        ///< they change nothing about it
    std::string_view harmless_with_value = {};        ///< the same; a value follows
    std::string_view isolating_variable = {};         ///< of the environment
    std::string_view ignores_isolating_variable = {}; ///< an option
};

inline constexpr known_interpreter known_interpreters[] = {
    {"python", first_word::file, "-I -P", "-b -B -d -E -O -q -R -s -S -u -v -x", "-W -X --check-hash-based-pycs",
     "PYTHONSAFEPATH", "-E"},
    {"pypy", first_word::file, "-I -P", "-b -B -d -E -O -q -R -s -S -u -v -x", "-W -X", "PYTHONSAFEPATH", "-E"},
    {"node", first_word::file, "",
     "--no-warnings --max-old-space-size --enable-source-maps --trace-warnings --inspect --inspect-brk --use-system-ca "
     "--use-openssl-ca --experimental-strip-types --disable-warning",
     "-C --conditions"},
    {"ruby", first_word::file, "", "-v -w -W0 -W1 -W2"},
    {"perl", first_word::file, "", "-T -t -w -W -X"},
    {"java", first_word::name_of_code, "-jar", "-server"},
};

/// A program that keeps what it runs in the home directory. Directories are separated by blanks.
struct known_store {
    std::string_view name;
    std::string_view directories;
};

inline constexpr known_store known_stores[] = {
    {"python", ".local/lib"},
    {"pipx", ".local/share/pipx .local/pipx .cache/pipx"},
    {"uv", ".cache/uv .local/share/uv"},
    {"poetry", ".cache/pypoetry .local/share/pypoetry"},
    {"pdm", ".cache/pdm .local/share/pdm"},
    {"npx", ".npm"},
    {"npm", ".npm"},
    {"pnpm", ".local/share/pnpm .cache/pnpm"},
    {"yarn", ".yarn .cache/yarn"},
    {"bun", ".bun"},
    {"deno", ".cache/deno .deno"},
    {"go", "go .cache/go-build"},
    {"cargo", ".cargo .rustup"},
};

/// A program that obeys files of the directory that it starts in. Names are separated by blanks.
inline constexpr known_store known_settings[] = {
    {"node", "package.json node_modules"},
    {"npx", "package.json .npmrc node_modules"},
    {"npm", "package.json .npmrc node_modules"},
    {"pnpm", "package.json .npmrc node_modules"},
    {"yarn", "package.json .yarnrc .yarnrc.yml .npmrc node_modules"},
    {"bun", "package.json bunfig.toml node_modules"},
    {"deno", "deno.json deno.jsonc package.json node_modules"},
    {"uv", "pyproject.toml uv.toml .python-version .venv"},
    {"pipx", ".python-version"},
    {"poetry", "pyproject.toml poetry.toml .venv"},
    {"pdm", "pyproject.toml .venv"},
    {"make", "GNUmakefile makefile Makefile"},
    {"just", "justfile Justfile .justfile"},
    {"cargo", "Cargo.toml .cargo/config.toml"},
};

/// Calls `use` with each part of a list that is separated by blanks.
template <class Use>
void for_each_part(std::string_view list, Use use) {
    while (!list.empty()) {
        auto const end = std::min(list.find(' '), list.size());
        if (end > 0) use(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
}

inline bool has_part(std::string_view list, std::string_view wanted) {
    bool found = false;
    for_each_part(list, [&](std::string_view part) { found = found || part == wanted; });
    return found;
}

/// `python`, `python3`, `python3.12` and `pythonw` are one program; `uv` and `uvx` are.
inline bool is_called(std::string_view program, std::string_view name) {
    if (!program.starts_with(name)) return false;
    return program.substr(name.size()).find_first_not_of("0123456789.wx") == std::string_view::npos;
}

/// The options of one word: `-Bu` has two, `--name=value` and those that a list knows have one.
inline std::vector<std::string> options_in(known_interpreter const& known, std::string_view word) {
    auto const name = word.substr(0, word.find('='));
    bool const is_known =
        has_part(known.isolating, name) || has_part(known.harmless, name) || has_part(known.harmless_with_value, name);
    if (is_known || name.starts_with("--")) return {std::string(name)};
    std::vector<std::string> options;
    for (char const letter : word.substr(1)) options.push_back({'-', letter});
    return options;
}

inline bool is_isolated_by_environment(known_interpreter const& known, launch_spec const& launch) {
    auto const variable = launch.env.find(std::string(known.isolating_variable));
    if (variable == launch.env.end() || variable->second.empty()) return false;
    auto const ignores_it = [&](std::string const& word) {
        if (!word.starts_with('-')) return false;
        auto const options = options_in(known, word);
        return std::ranges::find(options, known.ignores_isolating_variable) != options.end();
    };
    return std::none_of(launch.argv.begin() + 1, launch.argv.end(), ignores_it);
}

/// Reads the options up to the first other word.
inline bool uses_directory(known_interpreter const& known, std::span<std::string const> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        auto const& word = words[i];
        if (!word.starts_with('-') || word == "-") return word == "-" || known.runs != first_word::file;
        auto const options = options_in(known, word);
        for (auto const& option : options) {
            if (has_part(known.isolating, option)) return false;
            if (has_part(known.harmless_with_value, option)) {
                bool const is_next_word = &option == &options.back() && word.find('=') == std::string::npos;
                if (is_next_word) ++i;
                break;
            }
            if (!has_part(known.harmless, option)) return true;
        }
    }
    return true;
}

} // namespace detail

IPYBOX_DECL bool detail::is_setting_of_launcher(std::filesystem::path const& file) {
    bool found = false;
    for (auto const& known : known_settings)
        for_each_part(known.directories, [&](std::string_view name) {
            found = found || file.native().ends_with("/" + std::string(name));
        });
    return found;
}

IPYBOX_DECL launch_habits habits_of(launch_spec const& launch) {
    launch_habits habits;
    auto const program = std::filesystem::path(launch.argv.front()).filename().string();
    for (auto const& known : detail::known_settings)
        if (detail::is_called(program, known.name))
            detail::for_each_part(known.directories, [&](std::string_view name) { habits.settings.push_back(name); });
    for (auto const& known : detail::known_interpreters)
        if (detail::is_called(program, known.name))
            habits.imports_directory = habits.uses_directory =
                !detail::is_isolated_by_environment(known, launch) &&
                detail::uses_directory(known, std::span(launch.argv).subspan(1));
    auto const home = launch.env.find("HOME");
    if (home == launch.env.end() || home->second.empty()) return habits;
    for (auto const& known : detail::known_stores)
        if (detail::is_called(program, known.name))
            detail::for_each_part(known.directories, [&](std::string_view directory) {
                habits.stores.push_back(std::filesystem::path(home->second) / directory);
            });
    return habits;
}

} // namespace ipybox::mcp
