#pragma once

#include <ipybox/mcp/launch_habits.hpp>
#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_launch.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// By its name, or as it can be executed: what imports or runs things that lie beside it.
inline bool is_script(std::filesystem::path const& file) {
    constexpr std::string_view endings[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".sh", ".pl", ".jar"};
    auto const ending = file.extension().string();
    return std::ranges::find(endings, ending) != std::end(endings) || ::access(file.c_str(), X_OK) == 0;
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
inline void add_packages_above(std::filesystem::path const& script, std::vector<std::filesystem::path>& found) {
    std::vector<std::filesystem::path> on_the_way;
    for (auto folder = script.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        std::error_code ignored;
        auto packages = folder / "node_modules";
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

inline void add_with_environment(std::filesystem::path const& path, std::vector<std::filesystem::path>& found) {
    found.push_back(path);
    if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return;
    if (auto environment = environment_of(path); !environment.empty())
        found.push_back(std::move(environment));
    else if (is_script(path))
        found.push_back(path.parent_path());
    if (is_javascript(path)) add_packages_above(path, found);
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

/// Variables with lists of files and directories that programs take code from. An empty part is the directory they
/// start in.
inline constexpr char const* code_variables[] = {"PATH",      "PYTHONPATH", "NODE_PATH",       "RUBYLIB",   "PERL5LIB",
                                                 "CLASSPATH", "BASH_ENV",   "LD_LIBRARY_PATH", "LD_PRELOAD"};

/// Collects the files of one server.
class file_collector {
  public:
    explicit file_collector(launch_spec const& launch) : launch_(launch) {}

    void add(std::filesystem::path const& named) {
        std::error_code missing;
        auto path = (launch_.working_dir / named).lexically_normal();
        if (!path.has_filename()) path = path.parent_path();
        if (named.empty() || !std::filesystem::exists(path, missing)) return;
        add_with_environment(path, found_);
        if (auto const real = std::filesystem::canonical(path, missing); !missing && real != path)
            add_with_environment(real, found_);
    }

    void add_arguments() {
        std::string_view const separators = is_shell(launch_.argv.front()) ? "=,: \t\n;&|()<>'\"" : "=,:";
        for (auto const& word : launch_.argv)
            for_each_path_in(word, separators, [this](std::string_view part) { add(part); });
    }

    void add_variables() {
        for (auto const* name : code_variables) {
            auto const variable = launch_.env.find(name);
            if (variable == launch_.env.end() || variable->second.empty()) continue;
            for_each_path_in(variable->second, ":", [this](std::string_view part) { add(part.empty() ? "." : part); });
        }
    }

    void add_habits() {
        add(".env");
        auto const habits = habits_of(launch_);
        if (habits.uses_directory) add(".");
        for (auto const& store : habits.stores) add(store);
    }

    /// In the order of paths, each once.
    [[nodiscard]] std::vector<std::filesystem::path> found() && {
        std::ranges::sort(found_);
        auto const doubled = std::ranges::unique(found_);
        found_.erase(doubled.begin(), doubled.end());
        return std::move(found_);
    }

  private:
    launch_spec const& launch_;
    std::vector<std::filesystem::path> found_;
};

} // namespace detail

IPYBOX_DECL detail::server_files detail::files_of(server_params const& server) {
    detail::server_files files;
    auto const launch = launch_of(server);
    if (!launch) return files;
    detail::file_collector collector(*launch);
    collector.add_arguments();
    collector.add_variables();
    collector.add_habits();
    files.read_only = std::move(collector).found();
    if (!server.env_file.empty()) files.secret.push_back(launch->working_dir / server.env_file);
    return files;
}

} // namespace ipybox::mcp
