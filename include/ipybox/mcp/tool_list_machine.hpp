#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/list_pages.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/tool.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/// Reads a list of tools, page after page, as `list_pages` does. No I/O. MCP 2026-07-28, "Tools". A remark about the
/// list is that of its last tool.
class tool_list_machine {
  public:
    using pages = list_pages<tool, &tool::name>;
    using value_type = std::vector<tool>;
    static constexpr std::string_view method = "tools/list";

    static constexpr std::size_t most_tools = pages::most_items;
    static constexpr int most_pages = pages::most_pages;

    /// `params` of the next request, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const { return {{"cursor", pages_.cursor()}}; }

    using reading = result<list_page<tool>>;
    using outcome = std::optional<result<std::vector<tool>>>;

    /// Reads a page, on any thread.
    /// \par Errors errc::protocol_error — it is not a list of tools
    [[nodiscard]] static reading read(std::string_view json);

    /// Takes a page: all tools, or none when there is another page.
    /// \par Errors errc::protocol_error — the first page was not a list of tools
    [[nodiscard]] outcome on_reading(reading read);

    [[nodiscard]] outcome on_result(std::string_view json) { return on_reading(read(json)); }

    /// The server refused the page, with this code of JSON-RPC: as `list_pages` has it.
    [[nodiscard]] result<std::vector<tool>> on_refusal(error why, std::int64_t code);

  private:
    pages pages_{"tools"};
};

/// Reads one tool; none if the text is not a JSON object. Of one that nests too deeply there is the name, and its
/// `problem`.
[[nodiscard]] std::optional<tool> read_tool(std::string_view json);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/tool_list_machine.ipp>
#endif
