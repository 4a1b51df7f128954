#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/os/launch_spec.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/// The places from which a program takes code or settings, besides what its arguments name.
struct launch_habits {
    /// From the directory it starts in: modules, `package.json`, `pyproject.toml`, a `Makefile`. Programs that are not
    /// known do.
    bool uses_directory = true;

    /// Modules from there: it stands on the search path of an interpreter.
    bool imports_directory = false;

    /// Settings and packages from there, by their names.
    std::vector<std::string_view> settings = {};

    /// From directories of installed packages in the home directory, absolute. They need not exist.
    std::vector<std::filesystem::path> stores = {};
};

/// The habits of the program that is launched, by its name, its options and its environment.
[[nodiscard]] launch_habits habits_of(launch_spec const& launch);

namespace detail {

/// Whether a file has the name of one that a program which starts others takes settings from: `.npmrc`, `uv.toml`.
[[nodiscard]] bool is_setting_of_launcher(std::filesystem::path const& file);

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/launch_habits.ipp>
#endif
