#pragma once

#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/process.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::os {
namespace detail {

/// Calls `use` with each directory of a PATH, until it returns true.
template <class Use>
void for_each_folder(std::string_view path, Use use) {
    while (!path.empty()) {
        auto const folder = path.substr(0, path.find(':'));
        path.remove_prefix(std::min(path.size(), folder.size() + 1));
        // A relative one would be looked for in the current directory, where code may write.
        if (folder.starts_with('/') && use(std::filesystem::path(folder))) return;
    }
}

} // namespace detail

IPYBOX_DECL host_programs::host_programs(host_environment environment, code_reach reach)
    : environment_(std::move(environment)), reach_(std::move(reach)) {}

IPYBOX_DECL std::shared_ptr<host_programs> host_programs::now(code_reach reach) {
    return std::make_shared<host_programs>(host_environment::now(), std::move(reach));
}

IPYBOX_DECL bool host_programs::add_reach(code_reach const& more) {
    std::scoped_lock const lock(mutex_);
    return reach_.add(more);
}

IPYBOX_DECL code_reach host_programs::reach() const {
    std::scoped_lock const lock(mutex_);
    return reach_;
}

IPYBOX_DECL bool host_programs::can_change(std::filesystem::path const& path) const {
    return reach().can_change(environment_.directory() / path);
}

IPYBOX_DECL std::string host_programs::safe_path(std::string_view path) const {
    auto const code = reach();
    std::string safe;
    detail::for_each_folder(path, [&](std::filesystem::path const& folder) {
        if (!code.can_change(folder)) safe.append(safe.empty() ? "" : ":").append(folder.native());
        return false;
    });
    return safe;
}

IPYBOX_DECL std::filesystem::path host_programs::find(std::string const& name, std::string_view path) const {
    if (name.find('/') != std::string::npos) {
        auto file = environment_.directory() / name;
        return is_runnable(file) ? file : std::filesystem::path();
    }
    auto const code = reach();
    std::filesystem::path found;
    if (name.empty()) return found;
    detail::for_each_folder(path, [&](std::filesystem::path const& folder) {
        auto file = folder / name;
        bool const is_it = is_runnable(file) && !code.can_change(folder) && !code.can_change(file);
        if (is_it) found = std::move(file);
        return is_it;
    });
    return found;
}

IPYBOX_DECL std::filesystem::path host_programs::find_tool(std::string const& name) const {
    auto const code = reach();
    std::filesystem::path found;
    detail::for_each_folder(environment_.search_path(), [&](std::filesystem::path const& folder) {
        auto file = folder / name;
        bool const is_it = is_runnable(file) && !code.reaches(folder) && !code.reaches(file);
        if (is_it) found = std::move(file);
        return is_it;
    });
    return found.empty() ? find(name) : found;
}

IPYBOX_DECL std::string host_programs::passed_over(std::string const& name, std::string_view path) const {
    auto const code = reach();
    std::string text;
    if (name.empty() || name.find('/') != std::string::npos) return text;
    detail::for_each_folder(path, [&](std::filesystem::path const& folder) {
        auto const file = folder / name;
        bool const is_it = is_runnable(file) && (code.can_change(folder) || code.can_change(file));
        if (is_it)
            text = file.string() + " is not used, as code can write there: give its absolute path if it is meant, or "
                                   "choose another working directory";
        return is_it;
    });
    return text;
}

} // namespace ipybox::os
