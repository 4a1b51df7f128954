#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/sandbox/repository_files.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::detail {

/// So many directories are looked at for submodules, and so deep: their names may have slashes.
inline constexpr std::size_t most_module_directories = 2000;
inline constexpr int deepest_module = 10;

/// So many paths of all submodules, and so many worktrees, are guarded one by one: each path is a mount, of which bwrap
/// takes some 2900. Code can make more of them.
inline constexpr std::size_t most_module_paths = 400;
inline constexpr std::size_t most_worktrees = 100;

/// So much of a repository's settings is looked at for its directory of hooks.
inline constexpr std::size_t longest_git_config = std::size_t(1) << 20;

IPYBOX_DECL bool is_repository(std::filesystem::path const& directory) {
    std::error_code ignored;
    return std::filesystem::exists(directory / "HEAD", ignored) &&
           std::filesystem::is_directory(directory / "objects", ignored);
}

inline bool is_directory_itself(std::filesystem::path const& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(std::filesystem::symlink_status(path, ignored));
}

inline std::vector<std::filesystem::path> directories_in(std::filesystem::path const& path) {
    std::vector<std::filesystem::path> found;
    std::error_code ended;
    for (std::filesystem::directory_iterator entry(path, ended);
         !ended && entry != std::filesystem::directory_iterator(); entry.increment(ended))
        if (is_directory_itself(entry->path())) found.push_back(entry->path());
    return found;
}

inline std::string_view without_blanks(std::string_view text) {
    auto const is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// The rest of a line behind `hooksPath =`, in any case; empty where it is another line.
inline std::string_view hooks_path_in(std::string_view line) {
    constexpr std::string_view key = "hookspath";
    if (auto const end = line.find(']'); line.starts_with('[') && end != line.npos) line.remove_prefix(end + 1);
    line = without_blanks(line);
    if (line.size() < key.size()) return {};
    auto const is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    if (!std::equal(key.begin(), key.end(), line.begin(), [&](char a, char b) { return is_same(b, a); })) return {};
    line = without_blanks(line.substr(key.size()));
    if (!line.starts_with('=')) return {};
    line = without_blanks(line.substr(1));
    bool const is_quoted = line.size() > 1 && line.starts_with('"') && line.ends_with('"');
    return is_quoted ? line.substr(1, line.size() - 2) : line;
}

/// The values of core.hooksPath in settings of git (git-config(1), "Syntax"). Files that they include are not looked
/// at.
inline std::vector<std::string> hooks_paths_in(std::string_view text) {
    std::vector<std::string> found;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        if (auto const path = hooks_path_in(without_blanks(text.substr(0, end))); !path.empty())
            found.emplace_back(path);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
}

class repository_search {
  public:
    repository_search(std::filesystem::path project, git_settings settings)
        : project_(std::move(project)), settings_(settings) {}

    std::vector<guarded_path> run(std::filesystem::path const& git) {
        add_files_of(git, project_);
        add_submodules_in(git / "modules");
        add_worktrees_in(git / "worktrees");
        return std::move(found_);
    }

  private:
    void add(std::filesystem::path path, guarded_path::kind kind = guarded_path::kind::file) {
        found_.push_back({std::move(path), kind});
    }

    void add_files_of(std::filesystem::path const& git, std::filesystem::path const& project) {
        add(git / "hooks", guarded_path::kind::directory);
        // Where it is missing, git reads the settings of its own directory, as it does where it says `.`.
        add(git / "commondir", guarded_path::kind::dot_file);
        add(git / "config.worktree");
        add(git / "info/attributes");
        if (settings_ == git_settings::guarded) add(git / "config");
        for (auto const* name : {"config", "config.worktree"}) {
            auto const text = os::read_regular_file(git / name, "the settings of git", longest_git_config);
            if (!text) continue;
            for (auto const& hooks : hooks_paths_in(*text)) {
                std::error_code missing;
                auto path = std::filesystem::canonical(project / hooks, missing);
                if (!missing && is_within_project(path)) add(std::move(path), guarded_path::kind::directory);
            }
        }
    }

    /// Code that may write settings must not have directories of others closed by them, nor all of its own.
    [[nodiscard]] bool is_within_project(std::filesystem::path const& path) const {
        return path != project_ && os::lies_in(path, project_);
    }

    void add_worktrees_in(std::filesystem::path const& worktrees) {
        auto const found = directories_in(worktrees);
        if (found.size() > most_worktrees) return add(worktrees, guarded_path::kind::directory);
        for (auto const& worktree : found) {
            add(worktree / "commondir");
            add(worktree / "config.worktree");
        }
    }

    void add_submodules_in(std::filesystem::path const& modules) {
        auto const before = found_.size();
        if (look_in(modules, deepest_module) && found_.size() - before <= most_module_paths) return;
        found_.resize(before);
        add(modules, guarded_path::kind::directory);
    }

    /// False where there are too many.
    bool look_in(std::filesystem::path const& modules, int levels) {
        for (auto const& directory : directories_in(modules)) {
            if (levels == 0 || ++looked_at_ > most_module_directories) return false;
            std::error_code ignored;
            bool const is_repository = std::filesystem::exists(directory / "HEAD", ignored);
            if (is_repository) add_files_of(directory, directory); // where its hooks are, git says by an absolute path
            if (!look_in(is_repository ? directory / "modules" : directory, levels - 1)) return false;
        }
        return true;
    }

    std::filesystem::path const project_; ///< without links
    git_settings const settings_;
    std::size_t looked_at_ = 0;
    std::vector<guarded_path> found_;
};

IPYBOX_DECL std::vector<guarded_path> deciding_files_of(std::filesystem::path const& git, git_settings settings) {
    std::error_code ignored;
    return repository_search(std::filesystem::weakly_canonical(git.parent_path(), ignored), settings).run(git);
}

} // namespace ipybox::detail
