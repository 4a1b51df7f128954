#pragma once

#include <ipybox/app/session_directory.hpp>
#include <ipybox/os/directory.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

inline constexpr std::size_t longest_session_name = 64;

inline bool may_begin_session_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Paths that begin at the directory of the sessions begin at the workspace again.
inline void move_up(sandbox_config::path_entry& entry) {
    auto const& path = entry.path;
    bool const is_relative = !path.empty() && path.front() != '/' && path != "~" && !path.starts_with("~/");
    if (is_relative) entry.path = "../" + path;
}

inline bool is_working_directory(sandbox_config::path_entry const& entry) {
    auto const path = std::filesystem::path(entry.path).lexically_normal();
    return path == "." || path == "./";
}

} // namespace detail

IPYBOX_DECL result<void> check_session_name(std::string_view name) {
    auto const is_allowed = [](char c) { return detail::may_begin_session_name(c) || c == '_' || c == '-'; };
    bool const fits = !name.empty() && name.size() <= detail::longest_session_name &&
                      detail::may_begin_session_name(name.front()) && std::ranges::all_of(name, is_allowed);
    if (fits) return {};
    return failure(errc::invalid_argument,
                   "session must be a name of up to 64 letters (a-z, A-Z), digits, _ and -, which begins with a letter "
                   "or a digit");
}

IPYBOX_DECL std::filesystem::path sessions_directory(std::filesystem::path const& workspace) {
    return workspace / "sessions";
}

IPYBOX_DECL result<void> make_sessions_directory(std::filesystem::path const& workspace) {
    auto const made = os::directory::make(sessions_directory(workspace), workspace);
    if (!made) return failure(made.error());
    return {};
}

IPYBOX_DECL result<std::filesystem::path> make_session_directory(std::filesystem::path const& workspace,
                                                                 std::string_view name) {
    auto path = sessions_directory(workspace) / name;
    auto const made = os::directory::make(path, workspace);
    if (!made) return failure(made.error());
    return path;
}

IPYBOX_DECL sandbox_config config_for_sessions(sandbox_config of_workspace) {
    auto& files = of_workspace.filesystem;
    for (auto* list : {&files.deny_read, &files.allow_read, &files.deny_write})
        std::ranges::for_each(*list, detail::move_up);
    for (auto& entry : files.allow_write)
        if (!detail::is_working_directory(entry)) detail::move_up(entry);
    files.allow_read.push_back({"..", true});
    return of_workspace;
}

} // namespace ipybox
