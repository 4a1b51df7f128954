#pragma once

#include <ipybox/mcp/server_files.hpp>
#include <ipybox/mcp/server_launch.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>

namespace ipybox::mcp {
namespace detail {

/// By its name, or as it can be executed: what imports or runs things that lie beside it.
inline bool is_script(std::filesystem::path const& file) {
    constexpr std::string_view endings[] = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".sh", ".pl", ".jar"};
    auto const ending = file.extension().string();
    return std::ranges::find(endings, ending) != std::end(endings) || ::access(file.c_str(), X_OK) == 0;
}

/// The whole that a file belongs to: the outermost `node_modules` above it, or the virtual environment whose program it is. Empty: none.
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

inline void add_with_environment(std::filesystem::path const& path, std::vector<std::filesystem::path>& found) {
    found.push_back(path);
    if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return;
    if (auto environment = environment_of(path); !environment.empty())
        found.push_back(std::move(environment));
    else if (is_script(path))
        found.push_back(path.parent_path());
}

/// Programs that take packages or settings from the directory they are started in before any other.
inline bool looks_around(std::vector<std::string> const& argv) {
    constexpr std::string_view runners[] = {"npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno", "uv", "uvx"};
    auto const name = std::filesystem::path(argv.front()).filename().string();
    if (std::ranges::find(runners, name) != std::end(runners)) return true;
    return name.starts_with("python") && std::ranges::find(argv, "-m") != argv.end();
}

} // namespace detail

IPYBOX_DECL server_files files_of(stdio_server const& server) {
    server_files files;
    auto const launch = launch_of(server);
    if (!launch) return files;
    auto const add = [&](std::filesystem::path const& named) {
        std::error_code missing;
        auto const path = (launch->working_dir / named).lexically_normal();
        if (named.empty() || !std::filesystem::exists(path, missing)) return;
        detail::add_with_environment(path, files.read_only);
        if (auto const real = std::filesystem::canonical(path, missing); !missing && real != path)
            detail::add_with_environment(real, files.read_only);
    };
    for (auto const& word : launch->argv) {
        add(word);
        if (auto const equals = word.find('='); equals != std::string::npos)
            add(word.substr(equals + 1)); // --file=PATH
    }
    if (detail::looks_around(launch->argv)) files.read_only.push_back(launch->working_dir.lexically_normal());
    if (!server.env_file.empty()) files.secret.push_back(launch->working_dir / server.env_file);
    return files;
}

} // namespace ipybox::mcp
