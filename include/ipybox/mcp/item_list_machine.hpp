#pragma once

#include <ipybox/core/result.hpp>
#include <ipybox/mcp/list_pages.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipybox::mcp {

/// A list of a server whose items are handed on as they came.
struct item_list {
    std::string_view method;
    std::string_view member; ///< of a page: the items
    std::string_view key;    ///< of an item: the member by which it is known
};

inline constexpr item_list resource_list{"resources/list", "resources", "uri"};
inline constexpr item_list resource_template_list{"resources/templates/list", "resourceTemplates", "uriTemplate"};
inline constexpr item_list prompt_list{"prompts/list", "prompts", "name"};

/// An item of such a list.
struct listed_item {
    std::string key;
    raw_json value;
};

namespace detail {

/// Reads an item; none where it has no key, or is not an object of JSON.
[[nodiscard]] std::optional<listed_item> read_item(std::string_view text, std::string_view key);

/// `{"items":[…],"remark":"…"}`
[[nodiscard]] result<raw_json> json_of(whole_list<listed_item> const& list);

} // namespace detail

/**
 * \brief Reads such a list, page after page, as `list_pages` does. No I/O.
 * \details The result is an object: `items` as the server sent them, and a `remark` for people where something is wrong
 * with the list.
 */
template <item_list const& List>
class item_list_machine {
  public:
    using value_type = raw_json;
    static constexpr std::string_view method = List.method;

    /// `params` of the next request, without `_meta`.
    [[nodiscard]] std::vector<rpc_member> params() const { return {{"cursor", pages_.cursor()}}; }

    using reading = result<list_page<listed_item>>;
    using outcome = std::optional<result<raw_json>>;

    /// Reads a page, on any thread. \par Errors errc::protocol_error — it is not such a list
    [[nodiscard]] static reading read(std::string_view json) {
        auto const read = [](std::string_view item) { return detail::read_item(item, List.key); };
        return read_list_page<listed_item>(json, method, List.member, read);
    }

    /// Takes a page: all items, or none when there is another page.
    [[nodiscard]] outcome on_reading(reading read) {
        auto const list = pages_.on_page(std::move(read));
        if (!list) return std::nullopt;
        return *list ? detail::json_of(**list) : failure(list->error());
    }

    [[nodiscard]] outcome on_result(std::string_view json) { return on_reading(read(json)); }

    /// The server refused the page, with this code of JSON-RPC: as `list_pages` has it.
    [[nodiscard]] result<raw_json> on_refusal(error why, std::int64_t code) {
        auto const list = pages_.on_refusal(std::move(why), code);
        return list ? detail::json_of(*list) : failure(list.error());
    }

  private:
    list_pages<listed_item, &listed_item::key> pages_{List.member};
};

} // namespace ipybox::mcp

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/mcp/impl/item_list_machine.ipp>
#endif
