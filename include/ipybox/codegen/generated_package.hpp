#pragma once

#include <ipybox/codegen/generate_options.hpp>
#include <ipybox/codegen/generated_sources.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/tool.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen {

/// A Python package for the tools of a server, not yet written.
struct generated_package {
    /// How what a server lists differs from what its package was generated from. Names of tools.
    struct changes {
        /// Tools that the package lacks.
        std::vector<std::string> added;
        /// Tools that the server does not list any more.
        std::vector<std::string> removed;
        /// Tools whose module differs.
        std::vector<std::string> changed;

        /// Whether the package fits the server.
        [[nodiscard]] bool none() const { return added.empty() && removed.empty() && changed.empty(); }
    };

    /// The name of the server.
    std::string server_name;
    std::map<std::string, std::string> files = {}; ///< by name, in one directory
    std::vector<std::string> modules = {};         ///< of the tools, in the order of the list
    /// The parts that could not be translated exactly.
    std::vector<generated_sources::notice> notices = {};

    /**
     * \brief Generates the package of a server: a module for each tool, what they need, and the list itself.
     * \details Everything but the name of the server comes from the server: nothing of it decides about paths, imports
     * or code. A tool whose schemas cannot be used gets a module that takes any arguments; one whose name cannot be
     * told apart, or that goes beyond a limit, is left out. Both are in `notices`. The same input makes the same bytes.
     * \param server_name an identifier: name of the directory and of the package
     * \param tools what the server lists
     * \param options of the package
     * \par Errors errc::invalid_argument — `server_name` is none; the list of the tools is larger than 16 MiB, or has
     * more than 1,000,000 values
     * \par Thread safety A pure function.
     */
    [[nodiscard]] static result<generated_package>
    make(std::string_view server_name, std::vector<mcp::tool> const& tools, generate_options const& options = {});

    /**
     * \brief Names of modules for tools, in their order.
     * \details The names that mcpygen makes of them, so that imports keep working: other characters become `_`, letters
     * lower case. If that cannot be the name of a module, or is another tool's, it is changed; a tool whose name needs
     * no change keeps it.
     */
    [[nodiscard]] static std::vector<std::string> module_names(std::vector<std::string> const& tools);

    /**
     * \brief Writes a package as `root_dir/server_name`, in place of the one that is there; all of it or nothing.
     * \details It is written beside the old one, flushed to the disk, and exchanged in one step: an importer sees the
     * old one or the new one, and after a crash one of them is there. Generators of other processes wait. Files that an
     * earlier one left behind are removed. `root_dir/__init__.py`, by which tools are searched, is written where there
     * is none or an older one of ours.
     * \details Additions to a generated file stay while the file would be generated as it was then, and so do files
     * that were added. A package that would be the same is not touched. If a changed file has to be replaced, its text
     * is kept beside it as `NAME.edited`, and a notice says so.
     * \details The directory is that of code which is not trusted. No symbolic link below `root_dir` is followed, nor
     * one on the way to it below `code_dir` or the current directory, and nothing is deleted or replaced that does not
     * carry our mark. A kernel that has imported the old package keeps it until it is reset.
     * \par Errors errc::invalid_argument — at its place is something that is not ours; a name that no file can have.
     * errc::io_error — the operating system refused something, or another generator did not finish. After an error the
     * old package is there as it was
     * \par Thread safety Any number at once.
     */
    [[nodiscard]] result<generated_sources> write(std::filesystem::path const& root_dir,
                                                  generate_options const& options = {}) const;

    /**
     * \brief Compares the package with the one that was written: with what that server listed when it was generated. If
     * none was written, everything is added.
     * \par Errors errc::invalid_argument — what is there is not ours; errc::io_error — it cannot be read
     */
    [[nodiscard]] result<changes> compare(std::filesystem::path const& root_dir) const;
};

namespace detail {

/// The text of `_schemas.json`: what the server lists, its instructions, and which module stands for which tool, and
/// the checksums of the package's files as they are generated: what was added to one later shows.
[[nodiscard]] std::string listed_tools(std::string_view server_name, std::vector<mcp::tool> const& tools,
                                       std::vector<std::string> const& modules,
                                       std::map<std::string, std::string> const& files = {},
                                       std::string_view instructions = {});

} // namespace detail

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/generated_package.ipp>
#endif
