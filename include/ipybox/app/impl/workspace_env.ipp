#pragma once

#include <ipybox/app/workspace_env.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/os/host_environment.hpp>
#include <ipybox/os/read_file.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>

namespace ipybox {
namespace detail {

inline constexpr std::string_view kernel_prefix = "KERNEL_ENV_";
inline constexpr std::size_t longest_env_file = std::size_t(1) << 20;

/// Whether the loader, a shell or an interpreter that starts outside of the sandbox obeys a variable of this name. The
/// processes around the kernel get its environment, too.
inline bool is_obeyed_outside(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 12> whole{"PATH",           "HOME",   "TMPDIR",   "ENV", "BASH_ENV",
                                                            "SHELLOPTS",      "PS4",    "BASHOPTS", "IFS", "GCONV_PATH",
                                                            "GLIBC_TUNABLES", "LOCPATH"};
    static constexpr std::array<std::string_view, 4> beginnings{"LD_", "NODE_", "MALLOC_", "BASH_FUNC_"};
    for (auto const one : whole)
        if (name == one) return true;
    for (auto const beginning : beginnings)
        if (name.starts_with(beginning)) return true;
    return false;
}

/// Whether a variable of this name decides what code an interpreter or a package manager takes, which a server is run
/// by. That of a kernel may have it: it runs the code anyway.
inline bool is_obeyed_by_servers(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 7> whole{"CLASSPATH",     "PERLLIB", "EDITOR", "PAGER",
                                                           "GIT_EXEC_PATH", "SHELL",   "VISUAL"};
    static constexpr std::array<std::string_view, 19> beginnings{
        "PYTHON", "RUBY", "GEM_", "BUNDLE_",     "PERL5",       "JAVA_", "_JAVA_",  "JDK_JAVA_",  "DOTNET_", "DENO_",
        "BUN_",   "PIP_", "UV_",  "NPM_CONFIG_", "npm_config_", "YARN_", "GIT_SSH", "GIT_CONFIG", "DYLD_"};
    auto const begins = [name](std::string_view beginning) { return name.starts_with(beginning); };
    return is_obeyed_outside(name) || std::ranges::find(whole, name) != whole.end() ||
           std::ranges::any_of(beginnings, begins);
}

/// The text of a regular file that is no link; none where there is nothing of that name.
inline result<std::optional<std::string>> read_plain_file(std::filesystem::path const& file) {
    // A pipe would be waited for without O_NONBLOCK.
    os::unique_fd const descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK));
    if (!descriptor && errno == ENOENT) return std::nullopt;
    if (!descriptor && errno == ELOOP) return failure(errc::invalid_argument, file.string() + " is a symbolic link");
    if (!descriptor) return failure(system_failure("reading " + file.string(), errno));
    struct ::stat seen{};
    if (::fstat(descriptor.get(), &seen) != 0 || !S_ISREG(seen.st_mode))
        return failure(errc::invalid_argument, file.string() + " is not a regular file");
    auto text = os::read_all(descriptor.get(), "reading " + file.string(), longest_env_file);
    if (!text) return failure(text);
    return std::optional<std::string>(*std::move(text));
}

/// The variables of the file; notices where it is unusable.
inline environment variables_of(std::filesystem::path const& file, std::vector<std::string>& notices) {
    auto const text = read_plain_file(file);
    if (text && !*text) return {};
    auto read = text ? mcp::parse_env_text(**text, file.string()) : result<environment>(failure(text.error()));
    if (read) return *std::move(read);
    notices.push_back(read.error().text() + "; the file is left out");
    return {};
}

} // namespace detail

IPYBOX_DECL workspace_env read_workspace_env(std::filesystem::path const& workspace, environment const& process) {
    workspace_env read;
    auto const prefix = detail::kernel_prefix;
    for (auto const& [name, value] : process)
        if (name.size() > prefix.size() && name.starts_with(prefix)) read.kernel[name.substr(prefix.size())] = value;
    auto const file = workspace / ".env";
    for (auto const& [name, value] : detail::variables_of(file, read.notices)) {
        bool const is_for_kernel = name.size() > prefix.size() && name.starts_with(prefix);
        auto const meant = is_for_kernel ? name.substr(prefix.size()) : name;
        bool const is_obeyed = is_for_kernel ? detail::is_obeyed_outside(meant) : detail::is_obeyed_by_servers(meant);
        if (is_obeyed) {
            read.notices.push_back(
                file.string() + ": " + name +
                " is left out: code can write this file, and programs outside of the sandbox obey the "
                "variable; set it in the environment of this program");
            continue;
        }
        if (process.contains(name)) continue;
        read.host.emplace(name, value);
        if (is_for_kernel) read.kernel_of_file.emplace(meant, value);
    }
    return read;
}

IPYBOX_DECL workspace_env read_workspace_env(std::filesystem::path const& workspace) {
    return read_workspace_env(workspace, os::host_environment::now().variables());
}

} // namespace ipybox
