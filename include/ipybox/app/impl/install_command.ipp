#pragma once

#include <ipybox/app/install_command.hpp>
#include <ipybox/os/read_file.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace ipybox::detail {

IPYBOX_DECL std::string os_release() {
    return os::read_file("/etc/os-release", "the name of the system", 65536).value_or(std::string());
}

/// The value of a variable (os-release(5)), without its quotes.
inline std::string_view os_release_value(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
        if (!line.starts_with(name) || line.substr(name.size(), 1) != "=") continue;
        auto value = line.substr(name.size() + 1);
        if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
            value = value.substr(1, value.size() - 2);
        return value;
    }
    return {};
}

/// Whether a list of words with blanks between has one.
inline bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        auto const first = list.substr(0, list.find(' '));
        if (first == word) return true;
        list.remove_prefix(first.size() == list.size() ? first.size() : first.size() + 1);
    }
    return false;
}

IPYBOX_DECL std::string install_command(std::string_view os_release, std::string_view package) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> installers{{{"debian", "apt-get install "},
                                                                                       {"fedora", "dnf install "},
                                                                                       {"rhel", "dnf install "},
                                                                                       {"arch", "pacman -S "},
                                                                                       {"suse", "zypper install "},
                                                                                       {"alpine", "apk add "}}};
    auto const id = os_release_value(os_release, "ID");
    auto const like = os_release_value(os_release, "ID_LIKE");
    auto command = std::string(installers.front().second);
    for (auto const& [system, installer] : installers)
        if (id == system || has_word(like, system)) command = installer;
    return "sudo " + command + std::string(package);
}

} // namespace ipybox::detail
