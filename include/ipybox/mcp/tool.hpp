#pragma once

#include <ipybox/core/config.hpp>
#include <ipybox/core/tool_annotations.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace ipybox::mcp {

/**
 * \brief A tool as its server lists it (MCP 2025-11-25, "Tools", data type Tool).
 * \details All of it comes from the server and is not to be trusted. Schemas keep the order of their members.
 */
struct tool {
    std::string name;                                                       ///< how it is called
    std::optional<std::string> title = {};                                  ///< its name for people
    std::optional<std::string> description = {};                            ///< what it does, Markdown by custom
    nlohmann::ordered_json input_schema = nlohmann::ordered_json::object(); ///< JSON Schema of the arguments
    std::optional<nlohmann::ordered_json> output_schema = {};               ///< JSON Schema of `structuredContent`
    std::optional<nlohmann::json> annotations = {};                         ///< hints such as `readOnlyHint`
    bool needs_task = false;  ///< its server runs it as a task only (MCP 2025-11-25, `execution.taskSupport`)
    std::string problem = {}; ///< why code is not offered it: "nests too deeply", and then the rest is empty
    std::string remark = {};  ///< what is wrong with the list that ends with it, for people; mostly empty
};

namespace detail {

/// The effects of a tool, as it declares them. Hints that are not booleans do not count.
[[nodiscard]] ipybox::detail::tool_annotations annotations_of(tool const& listed);

} // namespace detail

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/tool.ipp>
#endif
