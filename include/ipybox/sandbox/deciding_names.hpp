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

/// Obeyed by programs that enter or open a project, also where they are new. All of them are made as directories: no
/// version control stages an empty one, and a program that wants a file of this name says that it has none.
inline constexpr auto deciding_names = std::to_array<deciding_name>({
    {".mcp.json", a_directory},
    {".envrc", a_directory},
    {".vscode", a_directory},
    {".idea", a_directory},
    {".zed", a_directory},
    {".claude", a_directory},
    {".cursor", a_directory},
    {".gemini", a_directory},
    {".codex", a_directory},
});

/// Obeyed where a project uses the program that they are of, or where they are linked to: only those that exist are
/// guarded.
inline constexpr auto deciding_names_in_use = std::to_array<deciding_name>({
    {".gitmodules", a_file},
    {".gitconfig", a_file},
    {".ripgreprc", a_file},
    {".bashrc", a_file},
    {".bash_profile", a_file},
    {".zshrc", a_file},
    {".zprofile", a_file},
    {".profile", a_file},
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
    {"*.code-workspace", a_file},
    {".fleet", a_directory},
    {".run", a_directory},
    {"opencode.json", a_file},
    {".aider.conf.yml", a_file},
    {".cargo/config.toml", a_file},
    {".Rprofile", a_file},
    {"jupyter_server_config.py", a_file},
    {".pylintrc", a_file},
    {".eslintrc.js", a_file},
    {".gdbinit", a_file},
    {".pdbrc", a_file},
    {".bazelrc", a_file},
    {"Jenkinsfile", a_file},
    {".travis.yml", a_file},
    {".drone.yml", a_file},
    {".woodpecker.yml", a_file},
    {"azure-pipelines.yml", a_file},
    {".forgejo/workflows", a_directory},
    {".gitea/workflows", a_directory},
    {".nvm/nvm.sh", a_file},
    {".oh-my-zsh/custom", a_directory},
});

/// Further ones of a home directory: what shells, git, Python and the desktop start from there, also where they are
/// new.
inline constexpr auto deciding_names_of_a_home = std::to_array<deciding_name>({
    {".bashrc", a_file},          {".bash_profile", a_file}, {".bash_login", a_file},   {".profile", a_file},
    {".zshrc", a_file},           {".zshenv", a_file},       {".zprofile", a_file},     {".zlogin", a_file},
    {".bash_logout", a_file},     {".zlogout", a_file},      {".xprofile", a_file},     {".xsessionrc", a_file},
    {".pam_environment", a_file}, {".tmux.conf", a_file},    {".gdbinit", a_file},      {".vimrc", a_file},
    {".emacs", a_file},           {".pip", a_directory},     {"bin", a_directory},      {".gitconfig", a_file},
    {".ripgreprc", a_file},       {".ipython", a_directory}, {".jupyter", a_directory}, {".config", a_directory},
    {".local", a_directory},      {".cache", a_directory},
});

} // namespace ipybox::detail
