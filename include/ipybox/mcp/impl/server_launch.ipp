#pragma once

#include <ipybox/mcp/server_launch.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/process.hpp>
#include <ipybox/os/read_file.hpp>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline environment inherited(server_params::inherited which, os::host_environment const& host) {
    if (which == server_params::inherited::all) return host.variables();
    environment env;
    for (auto const* const name : {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}) {
        auto const value = host.find(name);
        // A value that begins with "()" is a function that some shells export.
        if (value && !value->starts_with("()")) env.emplace(name, *value);
    }
    return env;
}

inline std::shared_ptr<os::host_programs const> host_of(server_params const& server) {
    return server.host ? server.host : os::host_programs::now();
}

/// Empty where the current directory is needed and gone.
inline std::filesystem::path start_directory(server_params const& server, os::host_environment const& host) {
    auto directory = host.absolute(server.working_dir.empty() ? "." : server.working_dir);
    return directory.has_filename() || !directory.has_relative_path() ? directory : directory.parent_path();
}

inline environment whole_environment(server_params const& server, environment const& of_file,
                                     os::host_environment const& host) {
    auto env = inherited(server.inherit, host);
    for (auto const* more : {&of_file, &server.env})
        for (auto const& [name, value] : *more) env[name] = value;
    return env;
}

/// A program that is named by its path is taken wherever it lies; one of a name is looked for where no code can have
/// put it.
inline std::filesystem::path program_of(server_params const& server, launch_spec const& spec,
                                        std::string const& search_path) {
    bool const is_path = server.command.find('/') != std::string::npos;
    return is_path ? spec.host->find((spec.working_dir / server.command).string())
                   : spec.host->find(server.command, search_path);
}

inline std::string_view trimmed(std::string_view text) {
    auto const first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// A relative path may have been meant from elsewhere: the text names the directory that it starts from.
inline std::string why_no_program(std::string const& command, std::filesystem::path const& working_dir) {
    auto const why = command + ": there is no such program";
    if (command.find(' ') != std::string::npos) return why + "; `command` is the program alone, and `args` follows it";
    if (command.find('/') == std::string::npos) return why + " on its PATH; install it, or give its whole path";
    return command.front() == '/' ? why : why + " in " + working_dir.string();
}

} // namespace detail

IPYBOX_DECL result<environment> read_env_file(std::filesystem::path const& file) {
    constexpr std::size_t longest = std::size_t(1) << 20;
    auto const text = os::read_regular_file(file, "reading " + file.string(), longest); // may lie where code can write
    if (!text) return failure(text.error());
    return parse_env_text(*text, file.string());
}

IPYBOX_DECL result<environment> parse_env_text(std::string const& text, std::string const& name) {
    std::istringstream in(text);
    environment env;
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        auto entry = detail::trimmed(line);
        if (entry.empty() || entry.front() == '#') continue;
        if (entry.starts_with("export ")) entry = detail::trimmed(entry.substr(7));
        auto const equals = entry.find('=');
        // The line itself is not quoted: it may be a secret.
        if (equals == std::string_view::npos || equals == 0)
            return failure(errc::invalid_argument, name + ": line " + std::to_string(number) + " is not NAME=VALUE");
        auto value = detail::trimmed(entry.substr(equals + 1));
        bool const quoted =
            value.size() > 1 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
        if (quoted) value = value.substr(1, value.size() - 2);
        env[std::string(detail::trimmed(entry.substr(0, equals)))] = value;
    }
    return env;
}

IPYBOX_DECL result<launch_spec> launch_of(server_params const& server) {
    launch_spec spec;
    spec.host = detail::host_of(server);
    auto const& host = spec.host->environment();
    spec.working_dir = detail::start_directory(server, host);
    if (spec.working_dir.empty())
        return failure(ipybox::detail::system_failure(
            "finding the current directory, in which " + server.command + " would start (set `working_dir`)", ENOENT));
    auto const of_file =
        server.env_file.empty() ? result<environment>() : read_env_file(spec.working_dir / server.env_file);
    if (!of_file) return failure(of_file.error());
    spec.env = detail::whole_environment(server, *of_file, host);

    std::string path;
    if (auto const variable = spec.env.find("PATH"); variable != spec.env.end()) {
        path = variable->second;
        variable->second = spec.host->safe_path(path);
    }
    auto const program = detail::program_of(server, spec, path);
    if (auto const why = spec.host->passed_over(server.command, path); program.empty() && !why.empty())
        return failure(errc::mcp_start_failed, why);
    if (program.empty())
        return failure(errc::mcp_start_failed, detail::why_no_program(server.command, spec.working_dir));
    spec.argv.push_back(program.string());
    spec.argv.insert(spec.argv.end(), server.args.begin(), server.args.end());
    return spec;
}

IPYBOX_DECL launch_spec unready_launch_of(server_params const& server) {
    launch_spec spec;
    spec.host = detail::host_of(server);
    spec.working_dir = detail::start_directory(server, spec.host->environment());
    auto const of_file = read_env_file(spec.working_dir / server.env_file);
    spec.env = detail::whole_environment(server, of_file.value_or(environment()), spec.host->environment());
    spec.argv.push_back(server.command);
    spec.argv.insert(spec.argv.end(), server.args.begin(), server.args.end());
    return spec;
}

IPYBOX_DECL environment added_environment_of(server_params const& server) {
    auto added = server.env;
    if (server.env_file.empty()) return added;
    auto const host = detail::host_of(server);
    auto of_file = read_env_file(detail::start_directory(server, host->environment()) / server.env_file);
    if (of_file) added.merge(*of_file);
    return added;
}

IPYBOX_DECL result<launch_spec> sandboxed_launch_of(server_params const& server) {
    auto spec = launch_of(server);
    if (!spec || !server.sandbox) return spec;
    spec->readable.emplace_back(spec->argv.front());
    spec->ends_with_starter = true;
    spec = server.sandbox->wrap(*std::move(spec));
    if (!spec) return spec;
    if (spec->network)
        return failure(errc::mcp_start_failed, "the sandbox of " + server.command +
                                                   " names hosts (network/allowedDomains), which a server cannot "
                                                   "reach by name: remove them");
    // A shell is the starter: it has one thread, which goes with it, and threads of the application come and go.
    // Beside it waits another one, which kills their group when the lifeline ends: the application has been killed.
    static_assert(lifeline_fd == 3);
    static constexpr auto run_and_wait = "{ read -r end; kill -s KILL 0; } <&3 &\n\"$@\" 3<&-\nexit $?";
    spec->argv.insert(spec->argv.begin(), {"/bin/sh", "-c", run_and_wait, "sh"});
    return spec;
}

} // namespace ipybox::mcp
