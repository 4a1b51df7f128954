#pragma once

#include <ipybox/os/host_environment.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/packages/pip_certificates.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <map>
#include <system_error>
#include <vector>

namespace ipybox::detail {

inline std::filesystem::path path_in_variable(char const* name) {
    char const* const value = std::getenv(name);
    return value ? value : "";
}

/// The files in which pip looks for its settings, the one that counts most first.
inline std::vector<std::filesystem::path> files_of_pip_settings() {
    std::vector<std::filesystem::path> files{path_in_variable("PIP_CONFIG_FILE")};
    if (auto const environment = path_in_variable("VIRTUAL_ENV"); !environment.empty())
        files.push_back(environment / "pip.conf");
    if (auto const home = os::host_environment::now().home(); !home.empty()) {
        auto const config = path_in_variable("XDG_CONFIG_HOME");
        files.push_back((config.is_absolute() ? config : home / ".config") / "pip/pip.conf");
        files.push_back(home / ".pip/pip.conf");
    }
    files.emplace_back("/etc/xdg/pip/pip.conf");
    files.emplace_back("/etc/pip.conf");
    return files;
}

inline std::string_view stripped_line(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    auto const first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

IPYBOX_DECL std::string certificates_in(std::string_view pip_conf) {
    std::map<std::string, std::string, std::less<>> found; // by section
    std::string section;
    while (!pip_conf.empty()) {
        auto const line = stripped_line(pip_conf.substr(0, pip_conf.find('\n')));
        pip_conf.remove_prefix(std::min(pip_conf.find('\n'), pip_conf.size() - 1) + 1);
        if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
        auto const equals = line.find_first_of("=:");
        if (equals == std::string_view::npos || stripped_line(line.substr(0, equals)) != "cert") continue;
        found[section] = stripped_line(line.substr(equals + 1));
    }
    auto const of_install = found.find("install");
    return of_install != found.end() ? of_install->second : found["global"];
}

IPYBOX_DECL result<std::filesystem::path> pip_certificates(std::filesystem::path const& named) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    std::error_code missing;
    if (!named.empty()) {
        if (!std::filesystem::exists(named, missing))
            return failure(errc::invalid_argument, "there is no file of certificates " + named.string());
        return std::filesystem::absolute(named, missing);
    }
    std::vector<std::filesystem::path> wanted;
    for (auto const* const name : {"PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"})
        wanted.push_back(path_in_variable(name));
    for (auto const& file : files_of_pip_settings())
        if (auto const text = file.empty() ? result<std::string>() : os::read_regular_file(file, "pip.conf", longest))
            wanted.emplace_back(certificates_in(*text));
    for (auto const& file : wanted)
        if (!file.empty() && std::filesystem::exists(file, missing)) return std::filesystem::absolute(file, missing);
    return std::filesystem::path();
}

} // namespace ipybox::detail
