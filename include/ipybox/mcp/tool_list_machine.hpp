#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/rpc_message.hpp>
#include <ipybox/mcp/tool.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/**
 * \brief Reads one page of a list of tools, page after page. No I/O. MCP 2026-07-28, "Tools" and "Pagination".
 * \details A list ends where there is no cursor, and where nothing new comes: with a page whose tools are all known, or
 * an empty one whose cursor is. So "", which servers send for "no more" and for a second page, means either. The tools
 * of earlier pages are kept when a later one is refused, or there is no end: the last one has a remark then.
 */
class tool_list_machine {
  public:
    using value_type = std::vector<tool>;
    static constexpr std::string_view method = "tools/list";

    static constexpr std::size_t most_tools = 100'000;
    static constexpr int most_pages = 1'000;

    /// `params` of the next request, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const { return {{"cursor", cursor_}}; }

    /// One page.
    struct page {
        std::vector<tool> tools;
        std::string next; ///< JSON of the cursor to the next page; empty where there is none
    };
    using reading = result<page>;
    using outcome = std::optional<result<std::vector<tool>>>;

    /// Reads a page, on any thread.
    /// \par Errors errc::protocol_error — it is not a list of tools
    [[nodiscard]] static reading read(std::string_view json);

    /// Takes a page: all tools, or none when there is another page.
    /// \par Errors errc::protocol_error — the first page was not a list of tools
    [[nodiscard]] outcome on_reading(reading read);

    [[nodiscard]] outcome on_result(std::string_view json) { return on_reading(read(json)); }

    /// The server refused the page: the tools so far, or the error where there are none.
    [[nodiscard]] result<std::vector<tool>> on_refusal(error why);

  private:
    [[nodiscard]] bool add(std::vector<tool> listed);
    [[nodiscard]] std::vector<tool> all(std::string const& remark = {});

    std::string cursor_; ///< JSON
    std::set<std::string> cursors_;
    std::set<std::string> names_;
    std::string odd_cursor_; ///< JSON of the first one that is another value than a string
    std::vector<tool> tools_;
    int pages_ = 0;
};

/// Reads one tool; none if the text is not a JSON object. Of one that nests too deeply there is the name, and its
/// `problem`.
[[nodiscard]] std::optional<tool> read_tool(std::string_view json);

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/tool_list_machine.ipp>
#endif
