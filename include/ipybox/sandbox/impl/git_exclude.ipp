#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>
#include <ipybox/os/write_all.hpp>
#include <ipybox/sandbox/git_exclude.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// So much of a project's own patterns is kept.
inline constexpr std::size_t longest_exclude = std::size_t(1) << 20;

/// The pattern of one path: it begins at the project, and all wildcards stand for themselves.
inline std::string exclude_pattern(std::filesystem::path const& below) {
    std::string pattern = "/";
    for (char const c : below.native()) {
        if (std::string_view("\\*?[ ").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
    }
    return pattern + '\n';
}

IPYBOX_DECL std::optional<git_exclude> exclude_in(std::filesystem::path const& project,
                                                  std::vector<std::filesystem::path> const& paths) {
    auto const file = project / ".git/info/exclude";
    std::error_code missing;
    if (std::filesystem::canonical(file, missing) != file) return std::nullopt;
    auto text = os::read_regular_file(file, "the patterns of git", longest_exclude);
    if (!text) return std::nullopt;
    if (!text->empty() && !text->ends_with('\n')) *text += '\n';
    for (auto const& path : paths) {
        bool const can_be_named = path.native().find('\n') == std::string::npos;
        if (can_be_named && path != project && os::lies_in(path, project))
            *text += exclude_pattern(path.lexically_relative(project));
    }
    return git_exclude{file, *std::move(text)};
}

/// A repository that a path lies in: the directory that its patterns begin at, and the file of them.
struct surrounding_repository {
    std::filesystem::path project;
    std::filesystem::path file;
};

/// The directory that a `.git` names: that of a worktree or a submodule, which is a file, or the one that it is.
inline std::filesystem::path git_directory_of(std::filesystem::path const& git) {
    constexpr std::string_view key = "gitdir: ";
    constexpr std::size_t longest = 4096;
    auto const named = [](std::filesystem::path const& file) {
        auto text = os::read_regular_file(file, "the directory of git", longest).value_or("");
        while (text.ends_with('\n')) text.pop_back();
        return text;
    };
    auto directory = git;
    if (auto const text = named(git); text.starts_with(key)) directory = git.parent_path() / text.substr(key.size());
    if (auto const common = named(directory / "commondir"); !common.empty()) directory /= common;
    return directory.lexically_normal();
}

inline std::optional<surrounding_repository> repository_around(std::filesystem::path const& path) {
    std::error_code ignored;
    auto const is_there = [&](std::filesystem::path const& git) {
        auto const status = std::filesystem::symlink_status(git, ignored);
        return std::filesystem::is_directory(status) || std::filesystem::is_regular_file(status);
    };
    for (auto project = path.parent_path();; project = project.parent_path()) {
        if (is_there(project / ".git")) {
            auto const info = git_directory_of(project / ".git") / "info";
            if (std::filesystem::is_symlink(info, ignored)) return std::nullopt;
            return surrounding_repository{project, info / "exclude"};
        }
        if (!project.has_relative_path()) return std::nullopt;
    }
}

inline std::string lines_about(std::filesystem::path const& placeholder, surrounding_repository const& repository) {
    return "# ipybox: a placeholder while a sandbox lives\n" +
           exclude_pattern(placeholder.lexically_relative(repository.project));
}

/// Code may have put a link there.
inline os::unique_fd open_exclude(std::filesystem::path const& file, int flags) {
    return os::unique_fd(::open(file.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
}

IPYBOX_DECL void pass_over_placeholder(std::filesystem::path const& placeholder) {
    auto const repository = repository_around(placeholder);
    if (!repository || placeholder.native().find('\n') != std::string::npos) return;
    (void)::mkdir(repository->file.parent_path().c_str(), 0755);
    auto const text = os::read_regular_file(repository->file, "the patterns of git", longest_exclude);
    bool const ends_within_line = text && !text->empty() && !text->ends_with('\n');
    auto const file = open_exclude(repository->file, O_WRONLY | O_APPEND | O_CREAT);
    auto const lines = (ends_within_line ? "\n" : "") + lines_about(placeholder, *repository);
    std::string_view rest = lines;
    if (file) (void)os::write_all(file.get(), rest);
}

IPYBOX_DECL void end_passing_over(std::filesystem::path const& placeholder) {
    auto const repository = repository_around(placeholder);
    if (!repository) return;
    auto text = os::read_regular_file(repository->file, "the patterns of git", longest_exclude);
    auto const lines = lines_about(placeholder, *repository);
    auto const at = text ? text->find(lines) : std::string::npos;
    if (at == std::string::npos) return;
    text->erase(at, lines.size());
    if (text->empty()) {
        (void)::unlink(repository->file.c_str());
        (void)::rmdir(repository->file.parent_path().c_str()); // fails where anything else is in it
        return;
    }
    auto const file = open_exclude(repository->file, O_WRONLY | O_TRUNC);
    std::string_view rest = *text;
    if (file) (void)os::write_all(file.get(), rest);
}

} // namespace ipybox::detail
