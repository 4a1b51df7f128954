#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/result.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ipybox::mcp {

/// One page of a list.
template <class Item>
struct list_page {
    std::vector<Item> items;
    std::string next; ///< JSON of the cursor to the next page; empty where there is none
};

/// A list of which all pages were read that there are.
template <class Item>
struct whole_list {
    std::vector<Item> items;
    std::string remark = {}; ///< what is wrong with the list, for people; mostly empty
};

/**
 * \brief Reads a list page after page. No I/O. MCP 2026-07-28, "Pagination".
 * \details A list ends where there is no cursor, and where nothing new comes: with a page whose items are all known, or
 * an empty one whose cursor is. So "", which servers send for "no more" and for a second page, means either. The items
 * of earlier pages are kept when a later one is refused, or there is no end: the list has a remark then.
 * \tparam Key the member of an item by which it is known
 */
template <class Item, auto Key>
class list_pages {
  public:
    using page = list_page<Item>;
    using whole = whole_list<Item>;

    static constexpr std::size_t most_items = 100'000;
    static constexpr int most_pages = 1'000;

    /// `items` is what they are called in a remark: "tools".
    explicit list_pages(std::string_view items) : called_(items) {}

    /// JSON of the cursor that the next request has; empty: none.
    [[nodiscard]] std::string const& cursor() const noexcept { return cursor_; }

    /// Takes a page: the whole list, or none when there is another page.
    /// \par Errors that of the first page
    [[nodiscard]] std::optional<result<whole>> on_page(result<page> read) {
        if (!read) return without_rest(read.error());
        bool const is_empty = read->items.empty();
        bool const fresh = add(std::move(read->items));
        auto& next = read->next;
        if (next.empty()) return all();
        bool const known = !cursors_.insert(next).second;
        if (!fresh && (!is_empty || known)) return all();
        if (odd_cursor_.empty() && !next.starts_with('"')) odd_cursor_ = next.substr(0, 100);
        if (++pages_ >= most_pages || items_.size() > most_items)
            return all("the list has no end: the first " + std::to_string(items_.size()) + " " + called_ +
                       " were taken");
        cursor_ = std::move(next);
        return std::nullopt;
    }

    /// The server refused the page, with this code of JSON-RPC: the items so far, or the error where there are none. A
    /// server that does not know the method has nothing to list.
    [[nodiscard]] result<whole> on_refusal(error why, std::int64_t code) {
        if (items_.empty() && code == rpc_method_not_found) return all();
        return without_rest(std::move(why));
    }

  private:
    /// The items so far, where the next page is refused or unreadable; the error where there are none.
    [[nodiscard]] result<whole> without_rest(error why) {
        if (items_.empty()) return failure(std::move(why));
        // a server that sends "" for "no more" may not know it as a cursor
        if (cursor_ == "\"\"") return all();
        return all("the rest of the list is missing: the server " + why.text());
    }

    /// Whether there are new ones among them. Those of later pages that are known are left out.
    bool add(std::vector<Item> listed) {
        bool const is_first = items_.empty();
        bool fresh = false;
        for (auto& each : listed) {
            bool const is_new = keys_.insert(std::invoke(Key, each)).second;
            fresh = fresh || is_new;
            if (is_new || is_first) items_.push_back(std::move(each));
        }
        return fresh;
    }

    whole all(std::string_view remark = {}) {
        whole list{std::move(items_)};
        if (list.items.empty()) return list;
        if (!odd_cursor_.empty())
            list.remark =
                "the list has the cursor " + odd_cursor_ + ", which is not a string: it was sent back as it came";
        if (!remark.empty()) list.remark.append(list.remark.empty() ? "" : "; ").append(remark);
        return list;
    }

    std::string called_;
    std::string cursor_; ///< JSON
    std::set<std::string> cursors_;
    std::set<std::string> keys_;
    std::string odd_cursor_; ///< JSON of the first one that is another value than a string
    std::vector<Item> items_;
    int pages_ = 0;
};

/**
 * \brief Reads one page, on any thread: its list is the member `member`.
 * \param read_item makes an item of its JSON; none: it is left out
 * \par Errors errc::protocol_error — the page lacks the list
 */
template <class Item, class ReadItem>
[[nodiscard]] result<list_page<Item>> read_list_page(std::string_view json, std::string_view method,
                                                     std::string_view member, ReadItem read_item) {
    list_page<Item> page;
    bool listed = false;
    json_cursor cursor(json);
    bool const read = cursor.object([&](std::string const& name) {
        if (name != member) {
            auto const value = cursor.skip(json_cursor::any_depth);
            // A number, say, goes back as it came. `false` is as good as none.
            if (value && name == "nextCursor" && value != "null" && value != "false") page.next = *value;
            return value.has_value();
        }
        listed = true;
        if (cursor.peek() == 'n') return cursor.skip() == "null"; // an empty list of some languages
        return cursor.array([&] {
            auto const text = cursor.skip(json_cursor::any_depth);
            auto item = text ? read_item(*text) : std::nullopt;
            if (item) page.items.push_back(std::move(*item));
            return text.has_value();
        });
    });
    if (!read || !listed || !cursor.finished())
        return failure(errc::protocol_error, "answered `" + std::string(method) +
                                                 "` with something that is no list of " + std::string(member));
    return page;
}

} // namespace ipybox::mcp
