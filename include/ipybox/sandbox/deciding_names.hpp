#pragma once

#include <ipybox/sandbox/guarded_path.hpp>

#include <array>
#include <string_view>

namespace ipybox::detail {

/// Files and directories of a project that other programs take commands from.
struct deciding_name {
    std::string_view name;
    guarded_path::kind kind;
};

inline constexpr auto a_file = guarded_path::kind::file;
inline constexpr auto a_directory = guarded_path::kind::directory;

/// Obeyed by programs that enter or open a directory, also where they are new. The names of srt 0.0.83 are among them.
inline constexpr std::array<deciding_name, 17> deciding_names{{
    {".bashrc", a_file},
    {".bash_profile", a_file},
    {".zshrc", a_file},
    {".zprofile", a_file},
    {".profile", a_file},
    {".gitconfig", a_file},
    {".gitmodules", a_file},
    {".ripgreprc", a_file},
    {".mcp.json", a_file},
    {".envrc", a_file},
    {".vscode", a_directory},
    {".idea", a_directory},
    {".zed", a_directory},
    {".claude", a_directory},
    {".cursor", a_directory},
    {".gemini", a_directory},
    {".codex", a_directory},
}};

/// Obeyed where a project uses the program that they are of: only those that exist are guarded.
inline constexpr std::array<deciding_name, 21> deciding_names_in_use{{
    {".husky", a_directory},
    {".githooks", a_directory},
    {".lefthook", a_directory},
    {"lefthook.yml", a_file},
    {".lefthook.yml", a_file},
    {".pre-commit-config.yaml", a_file},
    {".github/workflows", a_directory},
    {".github/actions", a_directory},
    {".gitlab-ci.yml", a_file},
    {".circleci", a_directory},
    {".devcontainer", a_directory},
    {".windsurf", a_directory},
    {".kiro", a_directory},
    {".roo", a_directory},
    {".continue", a_directory},
    {".npmrc", a_file},
    {".yarnrc.yml", a_file},
    {".yarnrc", a_file},
    {".exrc", a_file},
    {".vimrc", a_file},
    {".dir-locals.el", a_file},
}};

/// Further ones of a home directory: what shells, Python and the desktop start from there.
inline constexpr std::array<deciding_name, 9> deciding_names_of_a_home{{
    {".bash_login", a_file},
    {".zshenv", a_file},
    {".zlogin", a_file},
    {".xprofile", a_file},
    {".ipython", a_directory},
    {".jupyter", a_directory},
    {".config", a_directory},
    {".local", a_directory},
    {".cache", a_directory},
}};

} // namespace ipybox::detail
