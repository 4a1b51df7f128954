#pragma once

#include <ipybox/core/base64.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/http/tool_headers.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace ipybox::http {
namespace detail {

inline constexpr std::string_view encoded_begin = "=?base64?";
inline constexpr std::string_view encoded_end = "?=";
inline constexpr char const* const names_field = "x-mcp-header";

/// RFC 9110 section 5.6.2.
inline bool is_token(std::string_view text) {
    auto const fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    };
    return !text.empty() && std::ranges::all_of(text, fits);
}

/// Goes through a schema. Fields may be named where only `properties` lead, and nowhere else.
class field_finder {
  public:
    struct found {
        std::string field;
        std::vector<std::string> path;
    };

    void read(nlohmann::json const& schema) { visit(schema, true); }

    [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
    [[nodiscard]] std::vector<found>& all() noexcept { return all_; }

  private:
    void visit(nlohmann::json const& schema, bool is_reachable) {
        if (schema.is_array())
            for (auto const& each : schema) visit(each, false);
        if (!schema.is_object()) return;
        for (auto const& [name, value] : schema.items()) {
            if (name == names_field) {
                take(schema, value, is_reachable && !path_.empty());
            } else if (name == "properties" && value.is_object()) {
                for (auto const& [property, own] : value.items()) {
                    path_.push_back(property);
                    visit(own, is_reachable);
                    path_.pop_back();
                }
            } else if (!holds_data(name)) {
                visit(value, false);
            }
        }
    }

    static bool holds_data(std::string_view keyword) {
        constexpr std::array<std::string_view, 4> data{"const", "default", "enum", "examples"};
        return std::ranges::find(data, keyword) != data.end();
    }

    void take(nlohmann::json const& schema, nlohmann::json const& named, bool is_allowed) {
        auto const* const field = named.get_ptr<std::string const*>();
        auto const is_same = [&](found const& other) { return same_name(other.field, *field); };
        is_valid_ = is_valid_ && is_allowed && field && is_token(*field) && has_plain_type(schema) &&
                    std::ranges::none_of(all_, is_same);
        if (is_valid_) all_.push_back({*field, path_});
    }

    static bool has_plain_type(nlohmann::json const& schema) {
        auto const type = schema.find("type");
        auto const is_plain = [](nlohmann::json const& one) {
            return one == "string" || one == "integer" || one == "boolean";
        };
        if (type == schema.end()) return false;
        if (!type->is_array()) return is_plain(*type);
        auto const is_fit = [&](nlohmann::json const& one) { return one == "null" || is_plain(one); };
        return std::ranges::all_of(*type, is_fit) && std::ranges::any_of(*type, is_plain);
    }

    std::vector<std::string> path_;
    std::vector<found> all_;
    bool is_valid_ = true;
};

/// Whether it is an integer that floating-point numbers have as it is: JSON Schema takes 42.0 for one.
inline bool is_exact(double number) {
    constexpr double most = 9007199254740991;
    return std::abs(number) <= most && std::trunc(number) == number;
}

/// The texts of the tools of a list.
inline std::vector<std::string_view> tools_in(std::string_view answer) {
    std::vector<std::string_view> tools;
    json_cursor cursor(answer);
    auto const in_member = [&cursor](std::string_view wanted, auto read) {
        return [&cursor, wanted, read](std::string const& name) {
            if (name == wanted && cursor.peek() == (wanted == "tools" ? '[' : '{')) return read();
            return cursor.skip(json_cursor::any_depth).has_value();
        };
    };
    auto const read_tool = [&] {
        auto const text = cursor.skip(json_cursor::any_depth);
        if (text) tools.push_back(*text);
        return text.has_value();
    };
    auto const read_tools = [&] { return cursor.array(read_tool); };
    auto const read_result = [&] { return cursor.object(in_member("tools", read_tools)); };
    cursor.object(in_member("result", read_result));
    return tools;
}

/// The text without elements of an array.
inline std::string without(std::string_view whole, std::vector<std::string_view> const& elements,
                           std::vector<std::string_view> const& dropped) {
    if (dropped.empty()) return std::string(whole);
    auto const* const begin = elements.front().data();
    auto const* const end = elements.back().data() + elements.back().size();
    std::string text(whole.data(), begin);
    bool is_first = true;
    for (auto const each : elements) {
        auto const is_same = [each](std::string_view other) { return other.data() == each.data(); };
        if (std::ranges::any_of(dropped, is_same)) continue;
        text.append(std::exchange(is_first, false) ? "" : ",").append(each);
    }
    return text.append(end, whole.data() + whole.size());
}

} // namespace detail

IPYBOX_DECL std::string field_value(std::string_view text) {
    auto const is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    bool const is_padded = !text.empty() && (text.front() == ' ' || text.back() == ' ');
    bool const looks_encoded = text.starts_with(detail::encoded_begin) && text.ends_with(detail::encoded_end);
    if (std::ranges::all_of(text, is_plain) && !is_padded && !looks_encoded) return std::string(text);
    return std::string(detail::encoded_begin).append(base64_encode(text)).append(detail::encoded_end);
}

IPYBOX_DECL std::optional<std::string> tool_headers::learn(std::string_view answer) {
    if (tools_.empty() && answer.find(detail::names_field) == std::string_view::npos) return std::nullopt;
    auto const tools = detail::tools_in(answer);
    std::vector<std::string_view> forbidden;
    for (auto const text : tools) {
        auto const tool = read_json(text).value_or(nullptr);
        if (!tool.is_object() || !tool.contains("name") || !tool["name"].is_string()) continue;
        detail::field_finder finder;
        if (auto const schema = tool.find("inputSchema"); schema != tool.end()) finder.read(*schema);
        auto const name = tool["name"].get<std::string>();
        tools_.erase(name); // what an earlier list said of it
        if (!finder.is_valid()) forbidden.push_back(text);
        if (!finder.is_valid() || finder.all().empty()) continue;
        auto& mirrors = tools_[name];
        for (auto& each : finder.all()) mirrors.push_back({std::move(each.field), std::move(each.path)});
    }
    if (forbidden.empty()) return std::nullopt;
    return detail::without(answer, tools, forbidden);
}

IPYBOX_DECL fields tool_headers::of(std::string const& tool, std::string_view arguments) const {
    fields found;
    auto const known = tools_.find(tool);
    if (known == tools_.end()) return found;
    auto const given = read_json(arguments).value_or(nullptr);
    for (auto const& [field, path] : known->second) {
        auto const* at = &given;
        for (auto const& name : path) {
            auto const next = at && at->is_object() ? at->find(name) : given.end();
            at = at && at->is_object() && next != at->end() ? &*next : nullptr;
        }
        if (!at) continue;
        auto const name = "Mcp-Param-" + field;
        if (at->is_string())
            found.add(name, field_value(at->get_ref<std::string const&>()));
        else if (at->is_number_integer() || at->is_boolean())
            found.add(name, at->dump());
        else if (at->is_number_float() && detail::is_exact(at->get<double>()))
            found.add(name, std::to_string(static_cast<std::int64_t>(at->get<double>())));
    }
    return found;
}

} // namespace ipybox::http
