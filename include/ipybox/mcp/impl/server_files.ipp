#pragma once

#include <ipybox/mcp/launch_habits.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/os/host_programs.hpp>

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline bool is_named_as_script(std::filesystem::path const& file) {
    constexpr std::string_view endings[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".sh", ".pl", ".jar"};
    return std::ranges::find(endings, file.extension().string()) != std::end(endings);
}

/// By its name, or as it can be executed: what imports or runs things that lie beside it. An empty one, which may be a
/// placeholder, does neither.
inline bool is_script(std::filesystem::path const& file) {
    std::error_code ignored;
    if (std::filesystem::is_empty(file, ignored)) return false;
    return is_named_as_script(file) || ::access(file.c_str(), X_OK) == 0;
}

/// The whole that a file belongs to: the outermost `node_modules` above it, or the virtual environment whose program it
/// is. Empty: none.
inline std::filesystem::path environment_of(std::filesystem::path const& file) {
    std::filesystem::path above;
    for (auto const& part : file) {
        if (part == "node_modules") return above / part;
        above /= part;
    }
    std::error_code ignored;
    auto const prefix = file.parent_path().parent_path();
    return std::filesystem::exists(prefix / "pyvenv.cfg", ignored) ? prefix : std::filesystem::path();
}

inline bool is_javascript(std::filesystem::path const& file) {
    constexpr std::string_view endings[] = {".js", ".mjs", ".cjs", ".ts", ".mts"};
    return std::ranges::find(endings, file.extension().string()) != std::end(endings);
}

/// The directories in which a script of node finds packages: the next `node_modules` above it. In directories on the
/// way there another could be made, which would come first.
inline void add_packages_above(std::filesystem::path const& script, std::vector<std::filesystem::path>& found,
                               code_places& code) {
    std::vector<std::filesystem::path> on_the_way;
    for (auto folder = script.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        std::error_code ignored;
        auto packages = folder / "node_modules";
        code.environments.push_back(packages); // one could be made, too
        if (!std::filesystem::exists(packages, ignored)) {
            on_the_way.push_back(folder);
            continue;
        }
        found.insert(found.end(), on_the_way.begin(), on_the_way.end());
        found.push_back(std::move(packages));
        found.push_back(folder / "package.json");
        return;
    }
}

/// Files that say what runs, by their names. Others are data, which the server may write itself.
inline bool is_named_as_settings(std::filesystem::path const& file) {
    constexpr std::string_view endings[] = {".cfg", ".conf", ".env", ".ini", ".toml", ".yaml", ".yml"};
    auto const name = file.filename().string();
    return std::ranges::find(endings, file.extension().string()) != std::end(endings) || name.starts_with(".") ||
           name == "package.json" || name.find("config") != name.npos || name.find("settings") != name.npos;
}

inline void add_with_environment(std::filesystem::path const& path, std::vector<std::filesystem::path>& found,
                                 code_places& code) {
    found.push_back(path);
    if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return;
    bool const runs = is_script(path);
    if (runs || is_module_by_name(path) || is_named_as_settings(path)) code.files.push_back(path);
    if (auto environment = environment_of(path); !environment.empty()) {
        code.environments.push_back(environment);
        found.push_back(std::move(environment));
    } else if (runs) {
        found.push_back(path.parent_path());
        if (is_named_as_script(path)) code.modules.push_back(path.parent_path());
    }
    if (is_javascript(path)) add_packages_above(path, found, code);
}

inline bool is_shell(std::filesystem::path const& program) {
    constexpr std::string_view shells[] = {"sh", "ash", "bash", "busybox", "dash", "fish", "ksh", "zsh"};
    return std::ranges::find(shells, program.filename().string()) != std::end(shells);
}

/// Calls `use` with what may be a path in a word: all of it, and its parts, as in `--file=PATH`, `src=PATH,dst=PATH`,
/// `PATH:PATH`, and in a line for a shell.
template <class Use>
void for_each_path_in(std::string_view word, std::string_view separators, Use use) {
    use(word);
    while (true) {
        auto const end = word.find_first_of(separators);
        use(word.substr(0, end));
        if (end == std::string_view::npos) return;
        word.remove_prefix(end + 1);
    }
}

/// How a path that does not exist counts: not at all, or as what code could make there.
enum class if_missing { passed_over, file, directory };

/// An archive or a library in a list of directories, by its name.
inline if_missing kind_in_list(std::filesystem::path const& path) {
    constexpr std::string_view endings[] = {".egg", ".jar", ".so", ".whl", ".zip"};
    bool const is_file = std::ranges::find(endings, path.extension().string()) != std::end(endings);
    return is_file ? if_missing::file : if_missing::directory;
}

/// Variables with lists of files and directories that programs take code from. An empty part is the directory they
/// start in.
inline constexpr std::string_view code_variables[] = {
    "PATH",      "PYTHONPATH", "NODE_PATH", "RUBYLIB",         "PERL5LIB",
    "CLASSPATH", "GEM_PATH",   "BASH_ENV",  "LD_LIBRARY_PATH", "LD_PRELOAD",
    "LD_AUDIT",  "PYTHONHOME", "ENV",       "ZDOTDIR",         "PYTHONSTARTUP"};

/// Variables with options that name files, or the file of settings of a program. They count wherever they come from.
inline constexpr std::string_view option_variables[] = {
    "NODE_OPTIONS",          "RUBYOPT",        "PERL5OPT",         "PERL5DB",
    "JAVA_TOOL_OPTIONS",     "_JAVA_OPTIONS",  "JDK_JAVA_OPTIONS", "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",     "UV_CONFIG_FILE", "PIP_CONFIG_FILE",  "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig", "OPENSSL_CONF",   "GCONV_PATH"};

/// Characters around a path in options, in JSON and in lines for a shell.
inline constexpr std::string_view around_paths = "=,: \t\n;&|()<>'\"[]{}";

/// A path within a word: without what an option or a reference has in front of it (`-I/lib`, `-r./hook.js`, `@file`).
inline std::string_view without_prefix(std::string_view part) {
    if (part.starts_with('@')) part.remove_prefix(1);
    if (part.starts_with('-'))
        part.remove_prefix(std::min(part.size(), part.find_first_of("./", std::min<std::size_t>(part.size(), 1))));
    return part.find_first_not_of("./") == std::string_view::npos ? std::string_view() : part;
}

/// Collects the files of one server.
class file_collector {
  public:
    explicit file_collector(launch_spec const& launch) : launch_(launch) {}

    void add(std::filesystem::path const& named, if_missing otherwise = if_missing::passed_over) {
        if (named.empty()) return;
        std::error_code missing;
        auto path = (launch_.working_dir / named).lexically_normal();
        if (!path.has_filename()) path = path.parent_path();
        if (path.native().size() >= PATH_MAX) return;
        if (!std::filesystem::exists(path, missing)) {
            if (otherwise == if_missing::directory) path /= "";
            if (otherwise != if_missing::passed_over) missing_.push_back(std::move(path));
            return;
        }
        add_with_environment(path, found_, code_);
        if (auto const real = std::filesystem::canonical(path, missing); !missing && real != path)
            add_with_environment(real, found_, code_);
    }

    /// Adds modules that are loaded from directories named for that.
    void add_modules(std::filesystem::path const& named) {
        auto path = (launch_.working_dir / named).lexically_normal();
        if (!path.has_filename()) path = path.parent_path();
        if (std::error_code missing; std::filesystem::is_directory(path, missing)) code_.modules.push_back(path);
    }

    /// Everything in a word that is the path of a file.
    void add_word(std::string_view word, if_missing script = if_missing::passed_over) {
        for_each_path_in(word, around_paths, [&](std::string_view part) {
            bool const is_one = part.find_first_of(around_paths) == std::string_view::npos;
            if (is_one) add(without_prefix(part), is_named_as_script(part) ? script : if_missing::passed_over);
        });
        add(word);
    }

    void add_arguments() {
        std::string_view const separators = is_shell(launch_.argv.front()) ? "=,: \t\n;&|()<>'\"" : "=,:";
        auto const& program = launch_.argv.front(); // a name alone was looked for elsewhere
        if (program.find('/') != std::string::npos) add(program, if_missing::file);
        for (auto const& word : launch_.argv)
            for_each_path_in(word, separators, [&](std::string_view part) {
                bool const is_one = part.find_first_of(separators) == std::string_view::npos;
                add(part, is_one && is_named_as_script(part) ? if_missing::file : if_missing::passed_over);
            });
        named_ = code_.files;
        for (auto const& word : launch_.argv) add_word(word);
    }

    /// Values that are the server's own, and not those of the whole session of the user.
    void add_own_variables(environment const& inherited) {
        for (auto const& [name, value] : launch_.env) {
            auto const before = inherited.find(name);
            bool const is_option = std::ranges::find(option_variables, name) != std::end(option_variables);
            bool const is_own = before == inherited.end() || before->second != value;
            if (name != "PATH" && (is_own || is_option)) add_word(value, if_missing::file);
        }
    }

    void add_variables() {
        for (auto const name : code_variables) {
            auto const variable = launch_.env.find(std::string(name));
            if (variable == launch_.env.end() || variable->second.empty()) continue;
            bool const names_files = name == "BASH_ENV" || name == "LD_PRELOAD";
            for_each_path_in(variable->second, ":", [&](std::string_view part) {
                if (part.empty()) return add(".");
                if (name != "PATH") add_modules(part);
                auto const kind = names_files ? if_missing::file : kind_in_list(part);
                add(part, part.find(':') == std::string_view::npos ? kind : if_missing::passed_over);
            });
        }
    }

    void add_habits() {
        add(".env", if_missing::file);
        auto const habits = habits_of(launch_);
        if (habits.uses_directory) add(".");
        if (habits.imports_directory) add_modules(".");
        for (auto const name : habits.settings) {
            auto const path = launch_.working_dir / name;
            (name == "node_modules" || name == ".venv" ? code_.environments : code_.files).push_back(path);
        }
        for (auto const& store : habits.stores) add(store, if_missing::directory);
    }

    [[nodiscard]] std::vector<std::filesystem::path> found() const { return sorted(found_); }
    [[nodiscard]] std::vector<std::filesystem::path> missing() const { return sorted(missing_); }
    [[nodiscard]] std::vector<std::filesystem::path> named() const { return sorted(named_); }
    [[nodiscard]] code_places code() const {
        return {sorted(code_.files), sorted(code_.modules), sorted(code_.environments)};
    }

  private:
    /// In the order of paths, each once.
    static std::vector<std::filesystem::path> sorted(std::vector<std::filesystem::path> paths) {
        std::ranges::sort(paths);
        auto const doubled = std::ranges::unique(paths);
        paths.erase(doubled.begin(), doubled.end());
        return paths;
    }

    launch_spec const& launch_;
    std::vector<std::filesystem::path> found_;
    std::vector<std::filesystem::path> missing_;
    std::vector<std::filesystem::path> named_;
    code_places code_;
};

} // namespace detail

IPYBOX_DECL detail::server_files detail::files_of(server_params const& server) {
    detail::server_files files;
    auto const ready = launch_of(server);
    auto const launch = ready ? *ready : unready_launch_of(server);
    detail::file_collector collector(launch);
    collector.add_arguments();
    collector.add_variables();
    collector.add_own_variables(launch.host->environment().variables());
    collector.add_habits();
    files.read_only = collector.found();
    files.missing = collector.missing();
    files.named = collector.named();
    files.code = collector.code();
    if (!server.env_file.empty()) files.code.files.push_back(launch.working_dir / server.env_file);
    if (!server.env_file.empty()) files.secret.push_back(launch.working_dir / server.env_file);
    return files;
}

} // namespace ipybox::mcp
