#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/mcp/rpc_message.hpp>

#include <utility>

namespace ipybox::mcp {
namespace detail {

/// `head`, the members as an object, "}". Members may be large: they are copied once.
inline std::string message_with(std::string_view head, std::vector<rpc_member> const& params) {
    auto const pieces = rpc_pieces(head, params);
    std::string whole;
    whole.reserve(size_of(pieces) + 1); // an end of line goes behind it
    for (auto const piece : pieces) whole.append(piece);
    return whole;
}

} // namespace detail

IPYBOX_DECL std::optional<rpc_message> read_rpc_message(std::string_view text) {
    json_cursor cursor(text);
    rpc_message m;
    bool versioned = false;
    bool foreign = false;
    auto const keep = [&cursor](std::string_view& where) {
        auto const value = cursor.skip(json_cursor::any_depth); // the request that it answers fails, not all
        if (value) where = *value;
        return value.has_value();
    };
    auto const read = cursor.object([&](std::string const& name) {
        if (name == "id") return keep(m.id);
        if (name == "params") return keep(m.params);
        if (name == "result") return keep(m.result);
        if (name == "error") return keep(m.error);
        if (name != "method" && name != "jsonrpc") return cursor.skip(json_cursor::any_depth).has_value();
        bool const is_left_out = cursor.peek() == 'n' && cursor.skip() == "null";
        if (is_left_out) return true;
        foreign = cursor.peek() != '"';
        if (foreign) return false;
        auto value = cursor.string();
        if (!value) return false;
        if (name == "jsonrpc")
            versioned = *value == "2.0";
        else
            m.method = std::move(*value);
        return true;
    });
    bool const whole = read && cursor.finished();
    if (!whole && !foreign && m.method.empty() &&
        (text.starts_with(R"({"result":)") || text.starts_with(R"({"jsonrpc":)"))) {
        m.what = rpc_message::kind::broken;
        return m;
    }
    if (!whole || !versioned) return std::nullopt;
    if (m.error == "null" && !m.result.empty()) m.error = {}; // as JSON-RPC 1.0 had it
    if (!m.method.empty())
        m.what = m.id.empty() ? rpc_message::kind::notification : rpc_message::kind::request;
    else if (!m.error.empty())
        m.what = rpc_message::kind::error;
    else if (!m.result.empty() && !m.id.empty())
        m.what = rpc_message::kind::result;
    else
        return std::nullopt;
    if (m.what == rpc_message::kind::error) m.why = read_rpc_error(m.error);
    return m;
}

IPYBOX_DECL rpc_error read_rpc_error(std::string_view error) {
    rpc_error e;
    json_cursor cursor(error);
    if (cursor.peek() == '"') e.message = cursor.string().value_or(""); // no object, and a reason all the same
    cursor.object([&](std::string const& name) {
        auto const value = cursor.skip(json_cursor::any_depth);
        if (!value) return false;
        if (name == "data") {
            e.data = *value;
        } else if (name == "code" || name == "message") {
            auto const parsed = read_json(*value);
            if (name == "code" && parsed && parsed->is_number_integer()) e.code = parsed->get<std::int64_t>();
            if (name == "message" && parsed && parsed->is_string()) e.message = parsed->get<std::string>();
        }
        return true;
    });
    return e;
}

IPYBOX_DECL std::string to_string(rpc_error const& e) {
    auto text = (e.message.empty() ? "no reason given" : e.message) + " (" + std::to_string(e.code) + ")";
    if (!e.data.empty() && e.data != "null") text += "\ndata: " + e.data;
    return text;
}

IPYBOX_DECL std::string json_string(std::string_view text) { return json_text(nlohmann::json(text)); }

IPYBOX_DECL std::string rpc_request_head(std::int64_t id, std::string_view method) {
    auto head = R"({"jsonrpc":"2.0","id":)" + std::to_string(id);
    return head.append(R"(,"method":")").append(method).append(R"(","params":)");
}

IPYBOX_DECL std::vector<std::string_view> rpc_pieces(std::string_view head, std::vector<rpc_member> const& params) {
    std::vector<std::string_view> pieces{head};
    pieces.reserve(2 + 4 * params.size());
    std::string_view separator = "{\"";
    for (auto const& member : params) {
        if (member.value.empty()) continue;
        pieces.insert(pieces.end(), {separator, member.name, "\":", member.value});
        separator = ",\"";
    }
    pieces.emplace_back(pieces.size() == 1 ? "{}}" : "}}");
    return pieces;
}

IPYBOX_DECL std::size_t size_of(std::vector<std::string_view> const& pieces) noexcept {
    std::size_t bytes = 0;
    for (auto const piece : pieces) bytes += piece.size();
    return bytes;
}

IPYBOX_DECL std::string write_rpc_request(std::int64_t id, std::string_view method,
                                          std::vector<rpc_member> const& params) {
    return detail::message_with(rpc_request_head(id, method), params);
}

IPYBOX_DECL std::string write_rpc_notification(std::string_view method, std::vector<rpc_member> const& params) {
    auto head = std::string(R"({"jsonrpc":"2.0","method":")").append(method).append(R"(","params":)");
    return detail::message_with(head, params);
}

IPYBOX_DECL std::string write_rpc_result(std::string_view id, std::string_view result) {
    return std::string(R"({"jsonrpc":"2.0","id":)").append(id).append(R"(,"result":)").append(result).append("}");
}

IPYBOX_DECL std::string write_rpc_error(std::string_view id, std::int64_t code, std::string_view message) {
    return write_rpc_error(id, {code, std::string(message), {}});
}

IPYBOX_DECL std::string write_rpc_error(std::string_view id, rpc_error const& why) {
    auto text = std::string(R"({"jsonrpc":"2.0","id":)")
                    .append(id)
                    .append(R"(,"error":{"code":)")
                    .append(std::to_string(why.code))
                    .append(R"(,"message":)")
                    .append(json_string(why.message));
    if (!why.data.empty()) text.append(R"(,"data":)").append(why.data);
    return text.append("}}");
}

} // namespace ipybox::mcp
