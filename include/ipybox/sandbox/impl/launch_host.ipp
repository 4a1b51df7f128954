#pragma once

#include <ipybox/os/lies_in.hpp>
#include <ipybox/sandbox/deciding_names.hpp>
#include <ipybox/sandbox/launch_host.hpp>
#include <ipybox/sandbox/path_pattern.hpp>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::detail {

IPYBOX_DECL std::filesystem::path spelled_path(std::string_view text, std::filesystem::path const& working_dir,
                                               std::filesystem::path const& home) {
    bool const of_home = text == "~" || text.starts_with("~/");
    if (of_home) text.remove_prefix(std::min<std::size_t>(text.size(), 2));
    if (of_home && home.empty()) return {};
    return ((of_home ? home : working_dir) / without_contents(text)).lexically_normal();
}

/// A link in the working directory does not count: code may have made it.
inline bool is_led_away(std::filesystem::path const& path, std::filesystem::path const& working_dir) {
    std::error_code ignored;
    return os::lies_in(path, working_dir) && std::filesystem::weakly_canonical(path, ignored) != path;
}

IPYBOX_DECL os::code_reach reach_of(sandbox_config::file_access const& config, std::filesystem::path const& working_dir,
                                    os::host_environment const& host, deciding_files decide) {
    std::error_code ignored;
    auto const real = std::filesystem::weakly_canonical(working_dir, ignored);
    std::vector<std::filesystem::path> writable{real};
    for (auto const& entry : config.allow_write)
        if (auto path = spelled_path(entry.path, real, host.home()); !is_led_away(path, real))
            writable.push_back(std::move(path));
    if (decide == deciding_files::open) return os::code_reach(writable);

    std::vector<std::filesystem::path> closed;
    auto const close = [&](std::filesystem::path path) {
        if (std::filesystem::exists(path, ignored)) closed.push_back(std::move(path)); // others could be made
    };
    for (auto const& entry : config.deny_write) close(spelled_path(entry.path, real, host.home()));
    for (auto const& directory : {real, host.home()})
        for (auto const& deciding : deciding_names)
            if (!directory.empty()) close(directory / deciding.name);
    if (!host.home().empty())
        for (auto const& deciding : deciding_names_of_a_home) close(host.home() / deciding.name);
    return os::code_reach(writable, closed);
}

IPYBOX_DECL os::code_reach reach_of(launch_spec const& spec) {
    auto writable = spec.writable;
    writable.push_back(spec.working_dir);
    auto closed = spec.read_only;
    for (auto const* paths : {&spec.readable, &spec.hidden}) closed.insert(closed.end(), paths->begin(), paths->end());
    return os::code_reach(writable, closed);
}

} // namespace ipybox::detail
