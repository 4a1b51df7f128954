#pragma once

#include <ipybox/codegen/call_style.hpp>
#include <ipybox/core/config.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/tool.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::codegen {

/// How a package is generated.
struct generate_options {
    call_style style = call_style::synchronous;        ///< what modules have to call their tools by
    std::function<bool(mcp::tool const&)> filter = {}; ///< which tools get a module; empty: all
    std::string about = {}; ///< what the package says of itself first; empty: whose tools they are
    std::filesystem::path code_dir =
        {}; ///< `write_options::code_dir`; an executor's is its working directory unless set
};

/// Something about a tool that its server would want to mend. The package can be used all the same.
struct generate_notice {
    std::string tool; ///< its name; empty: the list as a whole
    /// A part that could not be translated exactly, for people.
    std::string text;
};

/// A Python package, not yet written.
struct generated_package {
    /// The name of the server.
    std::string server_name;
    std::map<std::string, std::string> files = {}; ///< by name, in one directory
    std::vector<std::string> modules = {};         ///< of the tools, in the order of the list
    /// The parts that could not be translated exactly.
    std::vector<generate_notice> notices = {};
};

/**
 * \brief Generates the package of a server: a module for each tool, what they need, and the list itself.
 * \details Everything but the name of the server comes from the server: nothing of it decides about paths, imports or
 * code. A tool whose schemas cannot be used gets a module that takes any arguments; one whose name cannot be told
 * apart, or that goes beyond a limit, is left out. Both are in `notices`. The same input makes the same bytes.
 * \param server_name an identifier: name of the directory and of the package
 * \par Errors errc::invalid_argument — `server_name` is none; the list of the tools is larger than 16 MiB, or has more
 * than 1,000,000 values
 * \par Thread safety A pure function.
 */
[[nodiscard]] result<generated_package> generate_package(std::string_view server_name,
                                                         std::vector<mcp::tool> const& tools,
                                                         generate_options const& options = {});

namespace detail {

/// The text of `_schemas.json`: what the server lists, and which module stands for which tool, and the checksums of the
/// package's files as they are generated: what was added to one later shows.
[[nodiscard]] std::string listed_tools(std::string_view server_name, std::vector<mcp::tool> const& tools,
                                       std::vector<std::string> const& modules,
                                       std::map<std::string, std::string> const& files = {});

} // namespace detail

} // namespace ipybox::codegen

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/codegen/impl/generate.ipp>
#endif
