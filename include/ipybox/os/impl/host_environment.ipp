#pragma once

#include <ipybox/os/host_environment.hpp>

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <system_error>
#include <utility>

extern "C" char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves declaring it to the program

namespace ipybox::os {
namespace detail {

/// A program that has emptied its environment has a null pointer (clearenv(3)).
inline host_environment::environment variables_now() {
    host_environment::environment variables;
    for (char* const* each = ::environ; each != nullptr && *each != nullptr; ++each) {
        std::string_view const text(*each);
        if (auto const equals = text.find('='); equals != std::string_view::npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

inline std::filesystem::path home_by_list_of_users() {
    std::array<char, 16 * 1024> room;
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) != 0 || !found) return {};
    std::filesystem::path home = found->pw_dir;
    return home.is_absolute() ? home : std::filesystem::path();
}

} // namespace detail

IPYBOX_DECL host_environment::host_environment(environment variables, std::filesystem::path directory)
    : variables_(std::move(variables)), directory_(std::move(directory)), home_(value("HOME")) {
    if (!home_.is_absolute()) home_ = detail::home_by_list_of_users();
}

IPYBOX_DECL host_environment host_environment::now() {
    std::error_code gone;
    auto directory = std::filesystem::current_path(gone);
    return {detail::variables_now(), gone ? std::filesystem::path() : std::move(directory)};
}

IPYBOX_DECL std::optional<std::string> host_environment::find(std::string const& name) const {
    auto const found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

IPYBOX_DECL std::string host_environment::search_path() const {
    return find("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
}

IPYBOX_DECL std::filesystem::path host_environment::state_directory() const {
    std::filesystem::path state = value("XDG_STATE_HOME");
    if (!state.is_absolute() && !home_.empty()) state = home_ / ".local/state";
    return state.is_absolute() ? state : std::filesystem::path();
}

IPYBOX_DECL std::filesystem::path host_environment::absolute(std::filesystem::path const& path) const {
    if (path.is_relative() && directory_.empty()) return {};
    auto normal = (directory_ / path).lexically_normal();
    return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

} // namespace ipybox::os
