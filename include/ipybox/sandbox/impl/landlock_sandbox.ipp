#pragma once

#include <ipybox/os/claimed_directory.hpp>
#include <ipybox/os/confinement.hpp>
#include <ipybox/os/landlock.hpp>
#include <ipybox/sandbox/bubblewrap_mounts.hpp>
#include <ipybox/sandbox/configured_rules.hpp>
#include <ipybox/sandbox/device_files.hpp>
#include <ipybox/sandbox/hide_variables.hpp>
#include <ipybox/sandbox/landlock_grants.hpp>
#include <ipybox/sandbox/landlock_sandbox.hpp>
#include <ipybox/sandbox/launch_host.hpp>
#include <ipybox/sandbox/system_call_filter.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox {
namespace detail {

inline constexpr std::string_view shared_memory = "/dev/shm";

inline result<void> check_for_landlock(sandbox_config::network_access const& network) {
    if (network.opens_hosts())
        return failure(errc::invalid_argument, "the sandbox's configuration names hosts, which landlock_sandbox cannot "
                                               "open: that needs a network of its own; choose bubblewrap");
    if (!network.unix_sockets.empty())
        return failure(errc::invalid_argument,
                       "the sandbox's configuration has network/allowUnixSockets, which landlock_sandbox cannot "
                       "enforce: the sockets of some paths cannot be opened alone; allowAllUnixSockets opens them all");
    return {};
}

inline result<void> check_for_landlock(launch_spec const& spec) {
    if (spec.argv.empty()) return failure(errc::invalid_argument, "there is no program to start");
    if (spec.ends_with_starter)
        return failure(errc::invalid_argument, "landlock_sandbox does not end a program with its starter; start an MCP "
                                               "server in bubblewrap");
    return {};
}

/// The meaning of a configuration for a launch.
struct landlock_scene {
    file_rules rules;
    landlock_grants grants;
    std::vector<std::filesystem::path> devices; ///< without links; but for the harmless ones
};

inline bool opens_shared_memory(sandbox_config::file_access const& config) {
    return std::ranges::any_of(config.allow_write, [](auto const& entry) {
        return entry.path == shared_memory || entry.path == std::string(shared_memory) + '/';
    });
}

/// `spec.working_dir` becomes the path without links.
inline result<landlock_scene> landlock_scene_of(sandbox_config const& config, std::size_t most_searched,
                                                std::filesystem::path const& home, launch_spec& spec) {
    auto real = bubblewrap_mounts(private_directories()).working_directory(spec.working_dir);
    if (!real) return failure(real);
    spec.working_dir = *std::move(real);
    file_scene const scene{spec.working_dir, home, most_searched};
    auto rules = file_rules_of(config.filesystem, config.search_depth, scene);
    if (!rules) return failure(rules);
    auto grants = landlock_grants_of(*rules, spec, home);
    if (!grants) return failure(grants);
    if (opens_shared_memory(config.filesystem)) grants->writable.emplace_back(shared_memory);
    auto devices = device_files_of(config.devices);
    if (!devices) return failure(devices);
    std::ranges::move(devices->directories, std::back_inserter(grants->readable));
    std::error_code gone; // what is gone since it was looked up cannot be granted
    for (auto& node : devices->nodes) node = std::filesystem::canonical(node, gone);
    return landlock_scene{*std::move(rules), *std::move(grants), std::move(devices->nodes)};
}

inline result<void> grant_each(os::landlock_rules& domain, std::vector<std::filesystem::path> const& paths,
                               os::file_access access) {
    for (auto const& path : paths)
        if (auto granted = domain.grant(path, access); !granted) return granted;
    return {};
}

inline result<void> grant_all(os::landlock_rules& domain, landlock_scene const& scene) {
    auto devices = scene.devices;
    std::error_code ignored;
    for (std::filesystem::path const device : harmless_devices)
        if (std::filesystem::exists(device, ignored)) devices.push_back(device);
    if (auto granted = grant_each(domain, scene.grants.readable, os::file_access::read); !granted) return granted;
    if (auto granted = grant_each(domain, scene.grants.writable, os::file_access::write); !granted) return granted;
    return grant_each(domain, devices, os::file_access::device);
}

inline std::vector<system_access> access_in_landlock(sandbox_config const& config, std::vector<system_access> allow) {
    if (config.network.all_unix_sockets) allow.push_back(system_access::unix_sockets);
    if (config.nested_user_namespaces) allow.push_back(system_access::user_namespaces);
    return allow;
}

} // namespace detail

IPYBOX_DECL result<launch_spec> landlock_sandbox::wrap(launch_spec spec) const {
    if (auto possible = detail::check_for_landlock(spec); !possible) return failure(possible);
    if (auto possible = detail::check_for_landlock(config_.network); !possible) return failure(possible);
    auto domain = os::landlock_rules::make();
    if (!domain) return failure(domain);
    auto const host = detail::host_of(spec, *this);
    auto scene = detail::landlock_scene_of(config_, options_.most_searched, host->environment().home(), spec);
    if (!scene) return failure(scene);
    auto directory = os::claimed_directory::make("ipybox-landlock");
    if (!directory) return failure(directory);
    std::error_code gone;
    scene->grants.writable.push_back(std::filesystem::canonical(directory->path(), gone));
    if (auto granted = detail::grant_all(*domain, *scene); !granted) return failure(granted);

    spec.allow = detail::access_in_landlock(config_, std::move(spec.allow));
    auto filter = detail::system_call_filter(spec.allow, detail::internet_sockets::refused);
    if (!filter) return failure(filter);
    os::confinement confinement{std::move(*domain).release(), *std::move(filter)};
    spec.confinement = std::make_shared<os::confinement const>(std::move(confinement));
    detail::hide_variables(spec, config_.hidden_variables);
    spec.sandbox_variables.emplace_back("TMPDIR");
    spec.env["TMPDIR"] = directory->path().string();
    // git fails at settings of the user that are there and cannot be read.
    if (spec.env.try_emplace("GIT_CONFIG_GLOBAL", "/dev/null").second)
        spec.sandbox_variables.emplace_back("GIT_CONFIG_GLOBAL");
    spec.changeable = std::move(scene->grants.writable);
    spec.keeps = std::make_shared<os::claimed_directory>(*std::move(directory));
    return spec;
}

IPYBOX_DECL result<sandbox_config::description>
landlock_sandbox::describe(std::filesystem::path const& working_dir) const {
    if (auto possible = detail::check_for_landlock(config_.network); !possible) return failure(possible);
    launch_spec spec{.argv = {"/bin/sh"}, .env = {}, .working_dir = working_dir};
    auto scene = detail::landlock_scene_of(config_, options_.most_searched, os::host_environment::now().home(), spec);
    if (!scene) return failure(scene);
    auto const uncovered = scene->rules.unreadable_later; // nothing can be mounted in their place
    auto seen = detail::description_of(std::move(scene->rules), config_);
    seen.absent.insert(seen.absent.end(), uncovered.begin(), uncovered.end());
    seen.writable = std::move(scene->grants.writable);
    seen.only_readable = std::move(scene->grants.readable);
    seen.devices = std::move(scene->devices);
    if (!seen.read_only.empty())
        seen.notices.emplace_back("files that other programs take commands from (.git/hooks, .envrc, .bashrc, …) can "
                                  "be changed and made in writable directories: Landlock cannot close them");
    seen.read_only.clear();
    return seen;
}

IPYBOX_DECL os::code_reach landlock_sandbox::reach(std::filesystem::path const& working_dir,
                                                   os::host_environment const& host) const {
    return detail::reach_of(config_.filesystem, working_dir, host, detail::deciding_files::open);
}

} // namespace ipybox
