#include <ipybox/os/host_environment.hpp>
#include <ipybox/os/lies_in.hpp>

#include <CLI/App.hpp>
#include <cli/working_directory.hpp>

#include <stdlib.h>

#include <cctype>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

namespace ipybox::cli {
namespace {

std::filesystem::path home() { return os::host_environment::now().home(); }

/// The home directory in front of a path: as `~`, `$HOME` or `${HOME}`. 0: it begins otherwise.
std::size_t spelled_home(std::string_view text) {
    for (std::string_view const spelling : {"~", "$HOME", "${HOME}"})
        if (text == spelling || (text.starts_with(spelling) && text[spelling.size()] == '/')) return spelling.size();
    return 0;
}

/// `file:///path`, with `%20` and the like for single bytes (RFC 8089).
std::string path_of_url(std::string_view url) {
    std::string path;
    for (std::size_t i = 0; i < url.size(); ++i) {
        auto const is_digit = [&](std::size_t at) {
            return at < url.size() && std::isxdigit(static_cast<unsigned char>(url[at])) != 0;
        };
        if (url[i] == '%' && is_digit(i + 1) && is_digit(i + 2)) {
            path += static_cast<char>(std::stoi(std::string(url.substr(i + 1, 2)), nullptr, 16));
            i += 2;
        } else {
            path += url[i];
        }
    }
    return path;
}

/// A name that a shell or a client would have replaced: `~user`, `$NAME`, `${NAME}`.
bool is_left_over(std::string_view name, bool is_first) {
    bool const is_variable = name.size() > 1 && name[0] == '$' &&
                             (name[1] == '{' || name[1] == '_' || std::isalpha(static_cast<unsigned char>(name[1])));
    return is_variable || name.find("${") != name.npos || (is_first && name.starts_with('~'));
}

/// Whether the home directory is `directory` or lies in it.
bool holds_home(std::filesystem::path const& directory) {
    std::error_code unknown;
    auto const own = home();
    return !own.empty() && os::lies_in(std::filesystem::weakly_canonical(own, unknown),
                                       std::filesystem::weakly_canonical(directory, unknown));
}

std::filesystem::path make_private_directory(std::string const& option) {
    std::error_code unknown;
    auto name = (std::filesystem::temp_directory_path(unknown) / "ipybox-work-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw CLI::ValidationError(option, "the current directory is the home directory, or one above it, and no "
                                           "private one can be made below TMPDIR: name a directory");
    return name;
}

} // namespace

std::string expand_directory(std::string& text) {
    constexpr std::string_view url = "file://";
    if (text.starts_with(url)) {
        auto const path = std::string_view(text).substr(url.size());
        auto const local = path.starts_with("localhost/") ? path.substr(std::string_view("localhost").size()) : path;
        if (!local.starts_with('/')) return "'" + text + "' names no directory of this machine";
        text = path_of_url(local);
        return {};
    }
    if (text.starts_with("file:")) return "'" + text + "' is not a directory; write its path";
    if (auto const length = spelled_home(text); length > 0) {
        if (home().empty()) return "'" + text + "' begins at the home directory, and there is none";
        text = home().string() + text.substr(length);
        return {};
    }
    std::error_code missing;
    if (std::filesystem::exists(text, missing)) return {};
    bool is_first = true;
    for (auto const& part : std::filesystem::path(text)) {
        if (is_left_over(part.native(), is_first))
            return "'" + text + "' has " + part.string() +
                   " in it, which neither a shell nor the client has replaced: write the directory itself";
        is_first = false;
    }
    return {};
}

working_directory choose_working_directory(std::filesystem::path const& named, std::string const& option,
                                           home_directory home) {
    std::error_code unknown;
    auto wanted = named.empty() ? std::filesystem::current_path(unknown) : named;
    if (home == home_directory::allowed || !holds_home(wanted)) return {std::move(wanted), {}};
    if (!named.empty())
        throw CLI::ValidationError(
            option, named.string() + " is your home directory, or one above it: code could change what your shell, ssh "
                                     "and other programs start with. Name a directory below, or add --allow-home");
    auto made = make_private_directory(option);
    auto notice = "the current directory is your home directory, or one above it: the code works in " + made.string() +
                  ", which was made for it; " + option + " names another one";
    return {std::move(made), std::move(notice)};
}

} // namespace ipybox::cli
