#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/json_cursor.hpp>
#include <ipybox/http/event_stream.hpp>
#include <ipybox/http/impl/remote_core.hpp>
#include <ipybox/mcp/stdio_channel.hpp>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace ipybox::http::detail {

/// The session that an answer to `initialize` begins.
inline void remote_channel::on_session(sent_message const& one, std::string_view result) {
    auto const about = read_json(result).value_or(nullptr);
    if (!about.is_object() || !about.contains("protocolVersion") || !about["protocolVersion"].is_string()) return;
    server_.version = about["protocolVersion"].get<std::string>();
    initialization_ = one.text;
}

/// The server has forgotten the session `lost`. The first message that hears of it begins another one, for which the
/// others wait.
inline asio::awaitable<result<void>> remote_channel::renew_session(std::string lost) {
    asio::error_code woken;
    while (is_beginning_ && !has_ended()) co_await begun_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (has_ended()) co_return failure(*lines_.why_ended());
    if (server_.session != lost || !initialization_) co_return result<void>();
    is_beginning_ = true;
    auto begun = co_await begin_session();
    is_beginning_ = false;
    wake();
    release();
    co_return begun;
}

inline asio::awaitable<result<void>> remote_channel::begin_session() {
    server_.session.clear();
    auto const first = std::make_shared<sent_message>(*initialization_);
    auto head = co_await post_once(first);
    if (!head) co_return failure(head);
    if (head->status != 200)
        co_return failure(errc::mcp_refused,
                          "has forgotten the session, and " + status_text(head->status) + " when one was begun anew");
    auto const answer = co_await only_answer(first, *head);
    auto const before = server_.version;
    auto const text = answer.value_or(std::string()); // the message leads into it
    auto const message = mcp::read_rpc_message(text);
    on_session(*first, message ? message->result : std::string_view());
    if (!message || server_.version != before) {
        error why(errc::mcp_server_died, "has forgotten the session, and began none of the same version anew");
        end(why);
        co_return failure(why);
    }
    server_.session = head->headers.find("Mcp-Session-Id");
    auto const second = std::make_shared<sent_message>(mcp::write_rpc_notification("notifications/initialized", {}));
    auto confirmed = co_await post_once(second);
    if (!confirmed) co_return failure(confirmed);
    ipybox::detail::spawn(executor_, listen(shared_from_this()));
    co_return result<void>();
}

/// The message that answers a request of this channel's own.
inline asio::awaitable<result<std::string>> remote_channel::only_answer(message_ptr one, response_head head) {
    if (head.media_type() != "text/event-stream") co_return co_await one->answer->read_all(mcp::longest_line);
    event_stream events(mcp::longest_line);
    events.begin(one->answer);
    for (;;) {
        auto next = co_await events.next();
        if (!next) co_return failure(next);
        if (!*next) co_return std::string();
        auto const message = mcp::read_rpc_message((*next)->data);
        if (message && message->method.empty()) co_return std::move((*next)->data);
    }
}

/// The stream on which the server speaks without being asked, where it has one: MCP 2025-11-25, "Listening for Messages
/// from the Server".
inline asio::awaitable<void> remote_channel::listen(self_ptr self) {
    auto const session = self->server_.session;
    event_stream events(mcp::longest_line);
    auto wait = first_wait;
    bool is_first_break = true; // since there was an event
    while (!self->has_ended() && self->server_.session == session) {
        auto const answer = self->server_.listen(events.last_id());
        auto const head = co_await answer->head();
        bool const has_events = head && head->status == 200 && head->media_type() == "text/event-stream";
        bool const is_down = !head || head->status >= 500;
        if (!has_events && !is_down) co_return;
        events.begin(answer);
        while (has_events) {
            auto next = co_await events.next();
            if (!next || !*next) break;
            wait = first_wait;
            is_first_break = true;
            if ((*next)->type == "message") co_await self->lines_.put(std::move((*next)->data));
        }
        auto const wanted = events.retry().value_or(wait);
        co_await self->sleep(std::exchange(is_first_break, false) ? wanted : std::max(wanted, wait));
        wait = std::min(2 * wait, longest_wait);
    }
}

/// MCP 2024-11-05, "HTTP with SSE": all messages of the server come on one stream, which says first where to post.
inline asio::awaitable<result<void>> remote_channel::open_sse() {
    auto const self = shared_from_this();
    auto const stream = server_.listen({});
    auto head = co_await stream->head();
    if (!head) co_return failure(head);
    if (head->status == 401) co_return failure(errc::mcp_unauthorized, "wants a sign-in (401)");
    if (head->status != 200 || head->media_type() != "text/event-stream")
        co_return failure(errc::mcp_refused, status_text(head->status) + " when its stream of events was asked for");
    stream_ = stream;
    ipybox::detail::spawn(executor_, read_sse(self, stream));
    asio::steady_timer late(executor_, connect_timeout_);
    late.async_wait([weak = weak_from_this()](asio::error_code cancelled) {
        auto const open = weak.lock();
        if (!cancelled && open && !open->has_place_)
            open->end(error(errc::mcp_unresponsive, "did not say within connect_timeout where to post"));
    });
    asio::error_code woken;
    while (!has_place_ && !has_ended()) co_await begun_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (has_ended()) co_return failure(*lines_.why_ended());
    co_return result<void>();
}

inline asio::awaitable<void> remote_channel::read_sse(self_ptr self, std::shared_ptr<response> stream) {
    event_stream events(mcp::longest_line);
    events.begin(stream);
    for (;;) {
        auto next = co_await events.next();
        if (!next || !*next) {
            auto const why = next ? std::string() : ": " + next.error().text();
            self->end(error(errc::mcp_server_died, "ended its stream of events" + why));
            co_return;
        }
        auto& [type, data] = **next;
        if (type == "message") {
            co_await self->lines_.put(std::move(data));
        } else if (type == "endpoint" && !self->has_place_) {
            self->has_place_ = self->server_.move_to(data);
            if (!self->has_place_)
                self->end(error(errc::protocol_error, "says that messages go to another server, which is not done"));
            self->wake();
        }
    }
}

} // namespace ipybox::http::detail
