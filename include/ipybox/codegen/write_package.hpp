#pragma once

#include <ipybox/codegen/generate.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/tool.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen {

/// A package on the disk.
struct generated_sources {
    std::filesystem::path directory;      ///< `root_dir/server_name`
    std::vector<std::string> modules;     ///< of the tools, in the order of the list
    std::vector<generate_notice> notices; ///< of the generation
};

/// How a package is written.
struct write_options {
    std::filesystem::path code_dir = {}; ///< code may write there: no link below it is followed
    std::chrono::milliseconds patience =
        std::chrono::seconds(10); ///< how long another generator of the same package may take
};

/**
 * \brief Writes a package as `root_dir/server_name`, in place of the one that is there; all of it or nothing.
 * \details It is written beside the old one, flushed to the disk, and exchanged in one step: an importer sees the old
 * one or the new one, and after a crash one of them is there. Generators of other processes wait. Files that an earlier
 * one left behind are removed. `root_dir/__init__.py`, by which tools are searched, is written where there is none or
 * an older one of ours.
 * \details Additions to a generated file stay while the file would be generated as it was then, and so do files that
 * were added. A package that would be the same is not touched. If a changed file has to be replaced, its text is kept
 * beside it as `NAME.edited`, and a notice says so.
 * \details The directory is that of code which is not trusted. No symbolic link below `root_dir` is followed, nor one
 * on the way to it below `code_dir` or the current directory, and nothing is deleted or replaced that does not carry
 * our mark. A kernel that has imported the old package keeps it until it is reset.
 * \par Errors errc::invalid_argument — at its place is something that is not ours; a name that no file can have.
 * errc::io_error — the operating system refused something, or another generator did not finish. After an error the old
 * package is there as it was
 * \par Thread safety Any number at once.
 */
[[nodiscard]] result<generated_sources> write_package(std::filesystem::path const& root_dir,
                                                      generated_package const& package,
                                                      write_options const& options = {});

/// How what a server lists differs from what its package was generated from. Names of tools.
struct tool_changes {
    /// Tools that the package lacks.
    std::vector<std::string> added;
    /// Tools that the server does not list any more.
    std::vector<std::string> removed;
    /// Tools whose module differs.
    std::vector<std::string> changed;

    /// Whether the package fits the server.
    [[nodiscard]] bool none() const { return added.empty() && removed.empty() && changed.empty(); }
};

/**
 * \brief Compares a package that was written with what the server lists now. If there is no package, everything is
 * added.
 * \par Errors errc::invalid_argument — `server_name` is not a name, or the package is not ours; errc::io_error — it
 * cannot be read
 */
[[nodiscard]] result<tool_changes> compare_package(std::filesystem::path const& root_dir, std::string_view server_name,
                                                   std::vector<mcp::tool> const& tools,
                                                   generate_options const& options = {});

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/write_package.ipp>
#endif
