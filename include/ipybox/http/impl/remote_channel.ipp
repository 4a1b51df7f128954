#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/text_tail.hpp>
#include <ipybox/http/event_stream.hpp>
#include <ipybox/http/impl/remote_core.hpp>
#include <ipybox/http/impl/remote_sessions.ipp>
#include <ipybox/http/remote_channel.hpp>
#include <ipybox/mcp/rpc_machine.hpp>
#include <ipybox/mcp/stdio_channel.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>

namespace ipybox::http {
namespace detail {

/// Bytes of the body of an answer that is an error: what is read of it for a person.
inline constexpr std::size_t longest_complaint = std::size_t(64) << 10;

/// How often one message may be redirected.
inline constexpr int most_redirects = 5;

/// How often in a row the stream of one request may break off without anything new.
inline constexpr int most_breaks = 5;

/// What the server said, for the text of an error.
inline std::string said_in(std::string_view body) {
    return body.empty() ? std::string() : std::string(mcp::detail::it_said).append(body);
}

inline std::optional<mcp::rpc_error> refusal_in(std::string_view text) {
    auto message = mcp::read_rpc_message(text);
    if (!message || message->what != mcp::rpc_message::kind::error) return std::nullopt;
    return std::move(message->why);
}

// --- the channel --------------------------------------------------------------------------------------------------------

/// Streamable HTTP is opened by its first message.
inline asio::awaitable<result<void>> remote_channel::open() {
    if (transport_ != transport::sse) co_return result<void>();
    co_return co_await open_sse();
}

inline void remote_channel::send(std::string message) {
    if (has_ended()) return;
    auto const one = std::make_shared<sent_message>(std::move(message));
    if (one->about.cancelled) {
        bool const was_sent = cancel(*one->about.cancelled);
        if (!was_sent || server_.version.empty()) return; // since 2026-07-28 the end of the answer says it all
    }
    held_.push_back(one);
    release();
}

/// A server may ask without end, and not take the answers.
inline void remote_channel::answer(std::string message) {
    auto const is_answer = [](message_ptr const& each) { return each->about.method.empty(); };
    auto const under_way = std::ranges::count_if(under_way_, is_answer) + std::ranges::count_if(held_, is_answer);
    if (under_way < most_answers) send(std::move(message));
}

/// Sends what was held back, up to a message that the others must not overtake.
inline void remote_channel::release() {
    while (!is_beginning_ && !held_.empty()) {
        auto const one = std::move(held_.front());
        held_.pop_front();
        is_beginning_ = one->begins_session();
        under_way_.push_back(one);
        ipybox::detail::spawn(executor_, deliver(shared_from_this(), one));
    }
}

/// False: it was held back, and the server does not know it.
inline bool remote_channel::cancel(std::int64_t id) {
    auto const has_id = [id](message_ptr const& each) { return each->about.id == id; };
    if (std::erase_if(held_, has_id) > 0) return false;
    for (auto const& each : under_way_) {
        if (!has_id(each)) continue;
        each->is_cancelled = true;
        if (each->answer) each->answer->end();
    }
    return true;
}

inline void remote_channel::lose(sent_message const& one, error why) {
    if (!one.about.id || !told_ || one.is_cancelled || one.is_answered) return;
    if (why == errc::cancelled) why = error(errc::not_running, "was stopped"); // by `kill`
    told_(*one.about.id, std::move(why));
}

inline asio::awaitable<void> remote_channel::close() {
    auto const self = shared_from_this();
    if (!server_.session.empty() && !has_ended()) {
        auto const answer = server_.end_session(grace_);
        (void)co_await answer->head(); // a server that refuses keeps it as long as it likes
    }
    end(error(errc::not_running, "was stopped"));
    kill();
}

inline void remote_channel::end(error why) {
    lines_.end(std::move(why));
    wake();
    for (auto* const timer : sleeping_) timer->cancel();
}

/// Those who wait for a session look again.
inline void remote_channel::wake() {
    begun_.cancel();
    begun_.expires_at(asio::steady_timer::time_point::max());
}

inline asio::awaitable<void> remote_channel::sleep(std::chrono::milliseconds time) {
    if (has_ended()) co_return;
    asio::steady_timer timer(executor_, std::clamp(time, shortest_wait, longest_wait));
    sleeping_.push_back(&timer);
    asio::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    std::erase(sleeping_, &timer);
}

// --- one message --------------------------------------------------------------------------------------------------------

inline asio::awaitable<void> remote_channel::deliver(self_ptr self, message_ptr one) {
    result<void> done;
    try {
        done = co_await self->post(one);
    } catch (std::exception const& bug) {
        done = failure(errc::io_error, std::string("cannot be asked: ") + bug.what());
    }
    std::erase(self->under_way_, one);
    one->answer.reset();
    // Before the others go: they may have the server speak there.
    bool const may_listen = one->about.method == "notifications/initialized" && done && !self->is_sse();
    if (may_listen) ipybox::detail::spawn(self->executor_, listen(self));
    if (one->begins_session()) {
        self->is_beginning_ = false;
        self->wake();
        self->release();
    }
    if (!done) self->lose(*one, done.error());
}

/// Sends it, and again where the server wants another session, other tokens or another place.
inline asio::awaitable<result<void>> remote_channel::post(message_ptr one) {
    for (int redirects = 0;;) {
        auto const session = server_.session;
        auto const credentials = server_.credentials();
        auto head = co_await post_once(one);
        if (!head) co_return failure(head);
        auto const status = head->status;
        if (status >= 200 && status < 300) co_return co_await read_answer(one, *head);

        bool const is_moved = status == 307 || status == 308;
        if (is_moved && ++redirects <= most_redirects) {
            if (server_.move_to(head->headers.find("Location"))) continue;
            co_return failure(errc::mcp_refused, "leads to another server, which is not followed: give the address "
                                                 "that it leads to as its `url`");
        }
        auto const challenge = head->headers.find("WWW-Authenticate");
        bool const wants_more = status == 403 && challenge.find("insufficient_scope") != std::string_view::npos;
        if ((status == 401 || wants_more) && server_.tokens() && !std::exchange(one->has_new_tokens, true)) {
            auto renewed = co_await server_.tokens()->renew(*head, credentials);
            if (!renewed) co_return renewed;
            continue;
        }
        bool const is_forgotten = status == 404 && !session.empty() && one->about.version.empty();
        if (is_forgotten && !std::exchange(one->has_new_session, true)) {
            auto renewed = co_await renew_session(session);
            if (!renewed) co_return renewed;
            continue;
        }
        co_return co_await refuse(one, *head);
    }
}

inline asio::awaitable<result<response_head>> remote_channel::post_once(message_ptr one) {
    one->answer = server_.post(*one);
    if (one->is_cancelled) one->answer->end();
    return one->answer->head();
}

inline asio::awaitable<result<void>> remote_channel::read_answer(message_ptr one, response_head head) {
    if (is_sse() || !one->about.id) co_return one->answer->leave(), result<void>(); // the body says nothing
    if (one->about.method == "initialize") server_.session = head.headers.find("Mcp-Session-Id");
    auto const type = head.media_type();
    if (type == "text/event-stream") co_return co_await read_events(one);
    auto text = co_await one->answer->read_all(mcp::longest_line);
    if (!text) co_return failure(text);
    co_await take(*one, *text);
    if (one->is_answered) co_return result<void>();
    if (auto refusal = refusal_in(*text)) { // an error that names no request
        co_await answer_with(*one, std::move(*refusal));
        co_return result<void>();
    }
    auto why = status_text(head.status) + " and " + (type.empty() ? "no body" : type) + ", without a message";
    co_return failure(errc::protocol_error, why.append(said_in(text->substr(0, longest_complaint))));
}

/// Reads the stream of a request to its answer. One that breaks off is resumed, where its events have ids: MCP
/// 2025-11-25, "Resumability and Redelivery".
inline asio::awaitable<result<void>> remote_channel::read_events(message_ptr one) {
    event_stream events(mcp::longest_line);
    events.begin(one->answer);
    auto wait = first_wait;
    for (int breaks = 0;;) {
        auto next = co_await events.next();
        if (next && *next) {
            if ((*next)->data.empty()) continue; // it brings an id
            breaks = 0;
            if ((*next)->type == "message") co_await take(*one, std::move((*next)->data));
            if (one->is_answered) co_return one->answer->leave(), result<void>();
            continue;
        }
        if (one->is_cancelled || has_ended()) co_return result<void>();
        if (!next && next.error() == errc::message_too_large) co_return failure(next);
        bool const can_resume = !events.last_id().empty() && one->about.version.empty() && ++breaks <= most_breaks;
        if (!can_resume && !next) co_return failure(next);
        if (!can_resume) co_return failure(errc::mcp_refused, "ended its stream of events without an answer");
        co_await sleep(events.retry().value_or(wait));
        if (one->is_cancelled || has_ended()) co_return result<void>();
        wait = std::min(2 * wait, longest_wait);
        one->answer = server_.listen(events.last_id());
        auto head = co_await one->answer->head();
        if (head && head->status != 200) co_return co_await refuse(one, *head);
        events.begin(one->answer);
    }
}

/// Hands messages on, and learns from the one that answers this request.
inline asio::awaitable<void> remote_channel::take(sent_message& one, std::string text) {
    auto const id = std::to_string(*one.about.id);
    auto const messages = mcp::rpc_messages_of(text);
    auto const is_answer = [&id](mcp::rpc_message const& each) { return each.method.empty() && each.id == id; };
    auto const answer = std::ranges::find_if(messages, is_answer);
    if (answer != messages.end()) {
        one.is_answered = true;
        if (one.about.method == "initialize") on_session(one, answer->result);
        if (one.about.method == "tools/list" && !one.about.version.empty())
            if (auto usable = server_.mirrored.learn(text)) text = *std::move(usable);
    }
    if (!messages.empty()) co_await lines_.put(std::move(text));
}

inline asio::awaitable<void> remote_channel::answer_with(sent_message& one, mcp::rpc_error why) {
    one.is_answered = true;
    return lines_.put(mcp::write_rpc_error(std::to_string(*one.about.id), why));
}

/// HTTP refuses the message. An error of JSON-RPC in the body is the server's own word.
inline asio::awaitable<result<void>> remote_channel::refuse(message_ptr one, response_head head) {
    auto const body = co_await one->answer->read_all(longest_complaint);
    auto const text = body.value_or(std::string());
    auto const status = head.status;
    if (auto refusal = one->about.id ? refusal_in(text) : std::nullopt) {
        co_await answer_with(*one, std::move(*refusal));
        co_return result<void>();
    }
    bool const is_unknown = status == 400 || status == 404 || status == 405;
    bool const may_be_sse = transport_ == transport::by_address && server_.version.empty() && !is_sse();
    if (is_unknown && may_be_sse && one->about.method == "initialize") {
        auto const opened = co_await open_sse();
        if (opened) co_return co_await post(one);
    }
    if (is_unknown && one->about.method == "server/discover") { // a server of before 2026-07-28
        mcp::rpc_error unknown{mcp::rpc_method_not_found, status_text(status), {}};
        co_await answer_with(*one, std::move(unknown));
        co_return result<void>();
    }
    constexpr std::size_t most_kept = std::size_t(16) << 10;
    ipybox::detail::append_tail(complaints_, text + "\n", most_kept);
    if (status == 401) co_return failure(errc::mcp_unauthorized, "wants a sign-in (401)" + said_in(text));
    if (status == 403) co_return failure(errc::mcp_unauthorized, "refuses access (403)" + said_in(text));
    co_return failure(errc::mcp_refused, status_text(status) + said_in(text));
}

} // namespace detail

IPYBOX_DECL result<std::shared_ptr<mcp::channel>> make_remote_channel(asio::any_io_executor const& executor,
                                                                      mcp::server_params const& server,
                                                                      std::shared_ptr<authorizer> tokens) {
    auto address = url::parse(server.url);
    if (!address) return failure(address);
    return std::make_shared<detail::remote_channel>(executor, server, *address, std::move(tokens));
}

} // namespace ipybox::http
