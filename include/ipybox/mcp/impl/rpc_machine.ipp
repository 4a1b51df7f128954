#pragma once

#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/rpc_machine.hpp>

#include <algorithm>
#include <charconv>

namespace ipybox::mcp {
namespace detail {

/// Bytes of the longest notification of progress that is read.
inline constexpr std::size_t longest_progress = std::size_t(1) << 20;

/// Bytes of the longest id of a request of a server, which its answer repeats.
inline constexpr std::size_t longest_request_id = 1024;

/// An id of ours. Some servers send numbers back as strings, or as floating-point numbers: 1.0 for 1.
inline std::optional<rpc_machine::request_id> number_in(std::string_view id) {
    if (id.size() > 2 && id.front() == '"' && id.back() == '"') id = id.substr(1, id.size() - 2);
    if (id.ends_with(".0")) id.remove_suffix(2);
    rpc_machine::request_id number = 0;
    auto const parsed = std::from_chars(id.data(), id.data() + id.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != id.data() + id.size()) return std::nullopt;
    return number;
}

/// JSON-RPC 2.0 section 4, without null: MCP forbids it.
inline bool is_request_id(std::string_view id) {
    if (id.size() > longest_request_id) return false;
    auto const value = read_json(id);
    return value && (value->is_string() || value->is_number_integer());
}

} // namespace detail

IPYBOX_DECL rpc_machine::request_id rpc_machine::open(clock::time_point deadline, progress_reports reports) {
    auto const id = ++last_;
    open_.emplace(id, entry{deadline, reports});
    if (deadline != clock::time_point::max()) deadlines_.emplace(deadline, id);
    return id;
}

IPYBOX_DECL rpc_machine::step rpc_machine::read(std::string_view message) {
    auto const m = read_rpc_message(message);
    if (!m) return nothing{};
    return take(*m);
}

IPYBOX_DECL rpc_machine::step rpc_machine::take(rpc_message const& message) {
    switch (message.what) {
    case rpc_message::kind::notification: return on_notification(message);
    case rpc_message::kind::request:
        if (message.id == "null") return on_notification(message); // of a server that writes what it leaves out
        if (!detail::is_request_id(message.id)) return nothing{};
        if (message.method == "ping") return reply{write_rpc_result(message.id, "{}")};
        return reply{write_rpc_error(message.id, rpc_method_not_found, "the client offers nothing to servers")};
    case rpc_message::kind::result:
        if (auto const request = close(message.id)) return answered{*request, message.result};
        return nothing{};
    case rpc_message::kind::error: {
        auto request = close(message.id);
        // A server that could not read the request does not know its id. If one request is open, it is the one.
        if (!request && (message.id.empty() || message.id == "null")) request = close_only_one();
        if (request) return refused{*request, message.why};
        return nothing{};
    }
    case rpc_message::kind::broken: {
        auto const request = message.id.empty() ? close_only_one() : close(message.id);
        if (request) return garbled{*request};
        return nothing{};
    }
    }
    return nothing{};
}

IPYBOX_DECL std::optional<rpc_machine::request_id> rpc_machine::close_only_one() {
    if (open_.size() != 1) return std::nullopt;
    auto const request = open_.begin()->first;
    forget(request);
    return request;
}

IPYBOX_DECL rpc_machine::step rpc_machine::on_notification(rpc_message const& m) const {
    if (m.method == "notifications/tools/list_changed") return tools_changed{};
    if (m.method != "notifications/progress" || m.params.size() > detail::longest_progress) return nothing{};
    auto const params = read_json(m.params).value_or(nullptr);
    auto const token = params.is_object() ? params.find("progressToken") : params.end();
    if (token == params.end()) return nothing{};
    auto const request = detail::number_in(token->dump());
    auto const found = request ? open_.find(*request) : open_.end();
    if (found == open_.end() || found->second.reports == progress_reports::unwanted) return nothing{};

    progressed report{found->first, {}};
    if (auto const done = params.find("progress"); done != params.end() && done->is_number())
        report.made.done = done->get<double>();
    if (auto const total = params.find("total"); total != params.end() && total->is_number())
        report.made.total = total->get<double>();
    if (auto const text = params.find("message"); text != params.end() && text->is_string())
        report.made.message = text->get<std::string>();
    return report;
}

/// The open request of that id, which is open no more.
IPYBOX_DECL std::optional<rpc_machine::request_id> rpc_machine::close(std::string_view id) {
    auto const request = detail::number_in(id);
    if (!request || !open_.contains(*request)) return std::nullopt;
    forget(*request);
    return request;
}

IPYBOX_DECL void rpc_machine::forget(request_id request) {
    auto const found = open_.find(request);
    if (found == open_.end()) return;
    deadlines_.erase({found->second.deadline, request});
    open_.erase(found);
}

IPYBOX_DECL std::optional<std::string> rpc_machine::abandon(request_id request, std::string_view reason) {
    if (!open_.contains(request)) return std::nullopt;
    forget(request);
    auto const id = std::to_string(request);
    auto const why = json_string(reason);
    return write_rpc_notification("notifications/cancelled", {{"requestId", id}, {"reason", why}});
}

IPYBOX_DECL rpc_machine::clock::time_point rpc_machine::deadline() const noexcept {
    return deadlines_.empty() ? clock::time_point::max() : deadlines_.begin()->first;
}

IPYBOX_DECL std::vector<rpc_machine::request_id> rpc_machine::overdue(clock::time_point now) const {
    std::vector<request_id> late;
    for (auto const& [deadline, request] : deadlines_) {
        if (deadline > now) break;
        late.push_back(request);
    }
    return late;
}

IPYBOX_DECL std::vector<std::string_view> messages_of(std::string_view line) {
    std::vector<std::string_view> messages;
    json_cursor cursor(line);
    if (cursor.peek() == '{') {
        messages.push_back(line);
    } else if (cursor.peek() == '[') {
        bool const read = cursor.array([&] {
            if (messages.size() == most_messages) return false;
            auto const element = cursor.skip();
            if (element && element->starts_with('{')) messages.push_back(*element);
            return element.has_value();
        });
        if (!read) messages.clear();
    }
    return messages;
}

IPYBOX_DECL std::vector<rpc_message> rpc_messages_of(std::string_view line) {
    std::vector<rpc_message> read;
    for (auto const text : messages_of(line))
        if (auto message = read_rpc_message(text)) read.push_back(std::move(*message));
    return read;
}

} // namespace ipybox::mcp
