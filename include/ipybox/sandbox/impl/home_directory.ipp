#pragma once

#include <ipybox/sandbox/home_directory.hpp>

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace ipybox::detail {

IPYBOX_DECL std::filesystem::path home_directory() {
    auto const* variable = std::getenv("HOME");
    if (std::filesystem::path home = variable ? variable : ""; home.is_absolute()) return home;
    std::array<char, 16 * 1024> room;
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) != 0 || !found) return {};
    std::filesystem::path home = found->pw_dir;
    return home.is_absolute() ? home : std::filesystem::path();
}

} // namespace ipybox::detail
