#pragma once

#include <ipybox/kernel/confinement.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/os/lies_in.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace ipybox::detail {

/// The directories of an interpreter's packages: the folder above its `bin`, as named and as linked. None before it is
/// found.
inline std::vector<std::filesystem::path> prefixes_of(std::filesystem::path const& python) {
    if (!python.is_absolute()) return {};
    std::vector<std::filesystem::path> prefixes{python.parent_path().parent_path()};
    std::error_code ignored;
    if (auto const real = std::filesystem::canonical(python, ignored); !ignored)
        prefixes.push_back(real.parent_path().parent_path());
    return prefixes;
}

/// Those of directories that were missing end with a slash.
inline bool is_same(std::filesystem::path const& one, std::filesystem::path const& other) {
    auto const plain = [](auto const& path) { return path.has_filename() ? path : path.parent_path(); };
    return plain(one) == plain(other);
}

inline bool has_all(std::vector<std::filesystem::path> const& all, std::vector<std::filesystem::path> const& wanted) {
    return std::ranges::all_of(wanted, [&](auto const& path) {
        return std::ranges::any_of(all, [&](auto const& one) { return is_same(one, path); });
    });
}

IPYBOX_DECL launch_spec confinement_of(supervisor_options const& options) {
    launch_spec spec;
    spec.working_dir = options.working_dir;
    spec.readable = prefixes_of(options.python);
    if (!options.package_dir.empty()) spec.readable.push_back(options.package_dir);
    spec.read_only = options.read_only;
    // The running program: it is what judges.
    std::error_code unknown;
    if (auto program = std::filesystem::read_symlink("/proc/self/exe", unknown); !unknown)
        spec.read_only.push_back(std::move(program));
    spec.hidden = options.hidden;
    if (!options.cache_dir.empty() && !os::lies_in(options.cache_dir, options.working_dir))
        spec.writable.push_back(options.cache_dir);
    spec.allow = options.allow;
    return spec;
}

IPYBOX_DECL result<void> check_directories(supervisor_options const& options) {
    if (!options.working_dir.is_absolute()) // a relative one was completed when the options were given
        return failure(errc::invalid_argument,
                       "the current directory does not exist any more; set `working_dir` to one that does");
    std::error_code ignored;
    if (os::lies_in(std::filesystem::weakly_canonical(options.working_dir, ignored), options.package_dir))
        return failure(errc::invalid_argument,
                       "the working directory lies in that of the packages, " + options.package_dir.string() +
                           ", where code must not write; choose another directory for one of the two");
    return {};
}

IPYBOX_DECL void add_protection(supervisor_options& options, supervisor_options const& more) {
    options.read_only.insert(options.read_only.end(), more.read_only.begin(), more.read_only.end());
    options.hidden.insert(options.hidden.end(), more.hidden.begin(), more.hidden.end());
}

IPYBOX_DECL bool protects(supervisor_options const& options, supervisor_options const& wanted) {
    return has_all(options.read_only, wanted.read_only) && has_all(options.hidden, wanted.hidden);
}

} // namespace ipybox::detail
