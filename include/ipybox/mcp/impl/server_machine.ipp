#pragma once

#include <ipybox/core/json_census.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/impl/refusal.hpp>
#include <ipybox/mcp/server_machine.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::mcp {
namespace detail {

/// The id of a message that is otherwise not one, as JSON; "null" where it has none.
inline std::string id_of(std::string_view text) {
    std::string_view id;
    json_cursor cursor(text);
    if (cursor.peek() == '{')
        cursor.object([&](std::string const& name) {
            auto const value = cursor.skip(json_cursor::any_depth);
            if (value && name == "id") id = *value;
            return value.has_value();
        });
    return request_key(id) ? std::string(id) : "null";
}

inline bool is_modern(request_params const& params) noexcept {
    return !params.meta_version.empty() || !params.meta_capabilities.empty();
}

inline tl::unexpected<rpc_error> unknown_method(std::string_view method) {
    return refused(rpc_method_not_found, "the method " + shown(method) + " is not known here");
}

} // namespace detail

IPYBOX_DECL server_machine::server_machine(server::options const& options, clock::time_point now,
                                           std::chrono::system_clock::time_point wall)
    : options_(options), listing_(options), outbox_(options.limits.max_line_out),
      calls_(options, listing_, outbox_, now, wall) {}

// --- what happens
// -----------------------------------------------------------------------------------------------------

IPYBOX_DECL server_machine::actions server_machine::on_line(std::string_view line, clock::time_point now) {
    calls_.set_time(now);
    auto const begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || ended_) return outbox_.take();
    auto const& limits = options_.limits;
    auto const census =
        ipybox::detail::count_json(line, {limits.max_line_in, limits.json_values, json_cursor::deepest});
    json_cursor cursor(line);
    if (census.excess != ipybox::detail::json_excess::none)
        refuse_line(line, {rpc_invalid_request,
                           "a message has at most " + std::to_string(limits.json_values) + " values, at most " +
                               std::to_string(json_cursor::deepest) + " inside each other",
                           {}});
    else if (!cursor.verify() || !cursor.finished())
        refuse_line({}, {rpc_parse_error, "the line is not JSON", {}});
    else if (line[begin] == '[')
        on_batch(line);
    else
        on_message(line, nullptr);
    return outbox_.take();
}

IPYBOX_DECL server_machine::actions server_machine::on_long_line(clock::time_point now, std::string_view id) {
    calls_.set_time(now);
    auto const most = std::to_string(options_.limits.max_line_in);
    auto const key = request_key(id);
    bool const is_known = key && !calls_.awaits(*key); // else it would be taken for an answer to the other request
    rpc_error const why{is_known ? rpc_invalid_request : rpc_parse_error,
                        "a line has at most " + most + " bytes; this one was not read",
                        {}};
    outbox_.put(nullptr, write_rpc_error(is_known ? id : "null", why));
    return outbox_.take();
}

IPYBOX_DECL server_machine::actions server_machine::on_end(clock::time_point now) {
    calls_.set_time(now);
    ended_ = true;
    calls_.end_all();
    return outbox_.take();
}

IPYBOX_DECL server_machine::actions server_machine::on_result(server_call_id call, call_result result,
                                                              clock::time_point now) {
    calls_.set_time(now);
    calls_.on_result(call, std::move(result));
    return outbox_.take();
}

IPYBOX_DECL std::pair<server_question_id, server_machine::actions>
server_machine::ask(server_call_id call, std::string_view message, nlohmann::ordered_json const& schema,
                    clock::time_point now) {
    calls_.set_time(now);
    auto const question = calls_.ask(call, message, schema);
    return {question, outbox_.take()};
}

IPYBOX_DECL server_machine::actions server_machine::withdraw(server_question_id question, clock::time_point now) {
    calls_.set_time(now);
    calls_.withdraw(question);
    return outbox_.take();
}

IPYBOX_DECL server_machine::actions server_machine::report(server_call_id call, call_options::progress const& made,
                                                           clock::time_point now) {
    calls_.set_time(now);
    calls_.report(call, made);
    return outbox_.take();
}

IPYBOX_DECL server_machine::actions server_machine::on_time(clock::time_point now) {
    calls_.set_time(now);
    calls_.on_time();
    return outbox_.take();
}

// --- messages
// ---------------------------------------------------------------------------------------------------------

IPYBOX_DECL void server_machine::refuse_line(std::string_view line, rpc_error const& why, batch_ptr const& batch) {
    outbox_.put(batch, write_rpc_error(detail::id_of(line), why));
}

IPYBOX_DECL void server_machine::on_batch(std::string_view line) {
    if (!client_ || client_->version != "2025-03-26")
        return refuse_line({}, {rpc_invalid_request, "the version that is spoken has no batches", {}});
    std::vector<std::string_view> messages;
    json_cursor cursor(line);
    cursor.array([&] {
        auto const element = cursor.skip();
        if (element) messages.push_back(*element);
        return element.has_value();
    });
    auto const most = options_.limits.batch;
    if (messages.empty() || messages.size() > most)
        return refuse_line({}, {rpc_invalid_request, "a batch has 1 to " + std::to_string(most) + " messages", {}});
    auto const batch = std::make_shared<server_batch>();
    for (auto const message : messages) on_message(message, batch);
    outbox_.complete(*batch);
}

IPYBOX_DECL void server_machine::on_message(std::string_view text, batch_ptr const& batch) {
    auto const message = read_rpc_message(text);
    if (!message || message->what == rpc_message::kind::broken)
        return refuse_line(text, {rpc_invalid_request, "the message is not one of JSON-RPC 2.0", {}}, batch);
    switch (message->what) {
    case rpc_message::kind::request: return on_request(*message, batch);
    case rpc_message::kind::notification: return on_notification(*message);
    default: return calls_.on_answer(*message);
    }
}

IPYBOX_DECL void server_machine::on_notification(rpc_message const& message) {
    if (message.method != "notifications/cancelled") return;
    auto const params = read_request_params(message.params);
    if (auto const key = params ? request_key(params->request_id) : std::nullopt) calls_.cancel_request(*key);
}

// --- requests
// ---------------------------------------------------------------------------------------------------------

IPYBOX_DECL void server_machine::on_request(rpc_message const& message, batch_ptr const& batch) {
    auto key = request_key(message.id);
    if (!key)
        return outbox_.put(
            batch, write_rpc_error("null", rpc_invalid_request, "the id of a request is a string or an integer"));
    if (calls_.awaits(*key)) // an answer with this id would be taken for that to the first request
        return outbox_.put(batch,
                           write_rpc_error("null", rpc_invalid_request,
                                           "the id " + detail::shown(message.id) + " is that of an open request"));
    server_open_request const request{std::string(message.id), std::move(*key), batch};
    outbox_.open(request);
    if (auto const answer = serve(message, request)) outbox_.answer(request, *answer);
}

IPYBOX_DECL server_machine::reply server_machine::serve(rpc_message const& message,
                                                        server_open_request const& request) {
    auto const params = read_request_params(message.params);
    if (!params) return tl::unexpected(params.error());
    bool const modern = detail::is_modern(*params);
    if (message.method == "initialize" && !modern) return initialize(*params);
    if (message.method == "ping" && !modern) return "{}";
    auto const client = client_of(*params);
    if (!client) return tl::unexpected(client.error());
    introduce(*client);
    return modern ? serve_modern(message.method, *params, *client, request)
                  : serve_legacy(message.method, *params, *client, request);
}

IPYBOX_DECL answer_to<server_machine::client_ptr> server_machine::client_of(request_params const& params) {
    if (!detail::is_modern(params)) {
        if (client_) return client_;
        return detail::refused(
            rpc_invalid_params,
            "a request has to say in `_meta` what it speaks: \"io.modelcontextprotocol/"
            "protocolVersion\" and \"io.modelcontextprotocol/clientCapabilities\"; clients of versions "
            "before 2026-07-28 send `initialize` first");
    }
    std::string text;
    for (auto const part : {params.meta_version, params.meta_capabilities, params.meta_client_info})
        text.append(part.substr(0, longest_description + 1)).append("\n");
    if (modern_ && text == modern_text_) return modern_;
    auto said = read_request_meta(params);
    if (!said) return tl::unexpected(said.error());
    said->takes_structured_content = takes_structured_content(said->name);
    modern_ = std::make_shared<server::client_description const>(std::move(*said));
    modern_text_ = std::move(text);
    return modern_;
}

IPYBOX_DECL bool server_machine::takes_structured_content(std::string const& client) const {
    auto const& others = options_.content_alone;
    return std::find(others.begin(), others.end(), client) == others.end();
}

IPYBOX_DECL void server_machine::introduce(client_ptr const& client) {
    if (!std::exchange(introduced_, true)) outbox_.add(server_actions::introduced{client});
}

IPYBOX_DECL answer_to<std::string> server_machine::initialize(request_params const& params) {
    auto said = read_initialize(params);
    if (!said) return tl::unexpected(said.error());
    said->takes_structured_content = takes_structured_content(said->name);
    client_ = std::make_shared<server::client_description const>(std::move(*said));
    introduce(client_);
    return listing_.initialize_result(*client_);
}

IPYBOX_DECL server_machine::reply server_machine::serve_modern(std::string const& method, request_params const& params,
                                                               client_ptr const& client,
                                                               server_open_request const& request) {
    if (method == "server/discover") return listing_.discover_result();
    if (method == "tools/list") return listing_.tools_result(*client, params.cursor);
    if (method == "tools/call") return calls_.call_tool(params, client, request);
    bool const of_tasks = method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel";
    if (of_tasks && listing_.has_tasks()) return calls_.serve_task(method, params, client, request);
    return detail::unknown_method(method);
}

IPYBOX_DECL server_machine::reply server_machine::serve_legacy(std::string const& method, request_params const& params,
                                                               client_ptr const& client,
                                                               server_open_request const& request) {
    if (method == "tools/list") return listing_.tools_result(*client, params.cursor);
    if (method == "tools/call") return calls_.call_tool(params, client, request);
    if (method == "logging/setLevel") return "{}"; // some clients set it without looking at the capabilities
    bool const of_tasks =
        method == "tasks/get" || method == "tasks/result" || method == "tasks/list" || method == "tasks/cancel";
    if (of_tasks && listing_.has_tasks() && client->version == "2025-11-25")
        return calls_.serve_task(method, params, client, request);
    return detail::unknown_method(method);
}

} // namespace ipybox::mcp
