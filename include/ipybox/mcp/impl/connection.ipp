#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/post_work.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/mcp/impl/connection.hpp>
#include <ipybox/mcp/impl/guarded.hpp>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace ipybox::mcp::detail {

/// How many lines and messages of a server are read until others have their turn.
inline constexpr int read_in_turn = 64;

IPYBOX_DECL connection::connection(asio::any_io_executor const& executor, std::shared_ptr<channel> c,
                                   std::function<void()> on_tools_changed)
    : executor_(executor), channel_(std::move(c)), on_tools_changed_(std::move(on_tools_changed)), deadline_(executor),
      ended_(executor, asio::steady_timer::time_point::max()) {}

IPYBOX_DECL asio::awaitable<result<void>> connection::open() {
    result<void> opened;
    try {
        channel_->on_lost([weak = weak_from_this()](request_id id, error why) {
            if (auto const self = weak.lock()) self->conclude(id, std::move(why));
        });
        opened = co_await channel_->open();
    } catch (...) { opened = failure(errc::io_error, "cannot be reached: its channel threw: " + thrown_text()); }
    if (!opened) {
        finish(opened.error());
        co_return opened;
    }
    ipybox::detail::spawn(executor_, read(shared_from_this()));
    co_return opened;
}

IPYBOX_DECL asio::awaitable<void> connection::read(std::shared_ptr<connection> self) {
    try {
        co_await self->read_messages();
    } catch (...) { self->finish(error(errc::io_error, "cannot be read from: " + thrown_text())); }
}

IPYBOX_DECL asio::awaitable<void> connection::read_messages() {
    for (;;) {
        auto const line = co_await channel_->receive();
        if (!line) {
            finish(line.error());
            co_return;
        }
        if (line->size() >= ipybox::detail::long_text)
            co_await read_long(*line);
        else
            co_await read_short(*line);
        co_await take_turn(); // empty lines count too
    }
}

IPYBOX_DECL asio::awaitable<void> connection::read_short(std::string_view line) {
    for (auto const text : messages_of(line)) {
        if (auto const message = read_rpc_message(text)) on_message(*message);
        co_await take_turn();
    }
}

/// Lets others run when so much was read.
IPYBOX_DECL asio::awaitable<void> connection::take_turn() {
    if (++read_ < read_in_turn) co_return;
    read_ = 0;
    co_await asio::post(executor_, asio::use_awaitable);
}

/// Messages may be many, and results large: others run in between.
IPYBOX_DECL asio::awaitable<void> connection::read_long(std::string_view line) {
    auto const read_messages = [line] { return rpc_messages_of(line); };
    auto const messages = co_await ipybox::detail::aside(aside_, read_messages);
    for (auto const& message : messages) {
        auto const meaning = book_.take(message);
        auto const* const answer = std::get_if<rpc_machine::answered>(&meaning);
        auto const asked = answer ? requests_.find(answer->request) : requests_.end();
        if (asked == requests_.end() || !asked->second.terms.read_aside) {
            on_meaning(meaning);
            co_await asio::post(executor_, asio::use_awaitable);
        } else {
            auto const read = [reader = asked->second.terms.read_aside, text = answer->result] { return reader(text); };
            auto value = co_await ipybox::detail::aside(aside_, read);
            conclude(answer->request, read_result{std::move(value)});
        }
    }
}

/// Sends. The outcomes of a channel that throws come later, as those of one that fails do.
IPYBOX_DECL void connection::put(std::string message, message_kind kind) {
    if (end_) return;
    try {
        kind == message_kind::answer ? channel_->answer(std::move(message)) : channel_->send(std::move(message));
    } catch (...) {
        error why(errc::io_error, "cannot be written to: its channel threw: " + thrown_text());
        ipybox::detail::post_work(
            executor_, [self = shared_from_this(), why = std::move(why)]() mutable { self->finish(std::move(why)); });
    }
}

IPYBOX_DECL connection::request_id connection::begin(request_terms terms, outcome_handler on_outcome) {
    using reports = rpc_machine::progress_reports;
    auto const id = book_.open(terms.deadline, terms.on_progress ? reports::wanted : reports::unwanted);
    requests_.emplace(id, open_request{std::move(on_outcome), std::move(terms)});
    if (end_)
        // Not inline, for the caller does not know the id yet.
        ipybox::detail::post_work(executor_, [self = shared_from_this(), id] { self->conclude(id, *self->end_); });
    else
        watch_deadlines();
    return id;
}

IPYBOX_DECL void connection::send(request_id id, std::string_view method, std::vector<rpc_member> const& params,
                                  std::shared_ptr<void const> owner) {
    auto const is_long = [](rpc_member const& member) { return member.value.size() >= ipybox::detail::long_text; };
    auto const asked = requests_.find(id);
    if (asked == requests_.end()) return;
    if (std::none_of(params.begin(), params.end(), is_long)) {
        asked->second.is_written = true;
        return put(write_rpc_request(id, method, params));
    }
    auto const request = std::make_shared<long_request>();
    *request = {id, rpc_request_head(id, method), {}, params, std::move(owner)};
    request->copies.reserve(params.size());
    for (auto& member : request->params)
        if (!is_long(member)) member.value = request->copies.emplace_back(member.value);
    ipybox::detail::spawn(
        executor_, send_long(shared_from_this(), request), [self = shared_from_this(), id](std::exception_ptr bug) {
            if (bug) self->conclude(id, error(errc::io_error, "cannot be asked: its request is too large"));
        });
}

/// Puts a long request together in slices, for copying it takes long. One that was abandoned meanwhile is not sent.
IPYBOX_DECL asio::awaitable<void> connection::send_long(std::shared_ptr<connection> self,
                                                        std::shared_ptr<long_request> request) {
    auto const pieces = rpc_pieces(request->head, request->params);
    std::string whole;
    whole.reserve(size_of(pieces) + 1); // an end of line goes behind it
    for (auto piece : pieces)
        while (!piece.empty()) {
            auto const slice = piece.substr(0, ipybox::detail::long_text);
            whole.append(slice);
            piece.remove_prefix(slice.size());
            if (slice.size() == ipybox::detail::long_text) co_await asio::post(self->executor_, asio::use_awaitable);
        }
    auto const asked = self->requests_.find(request->id);
    if (asked == self->requests_.end()) co_return;
    asked->second.is_written = true;
    self->put(std::move(whole));
}

IPYBOX_DECL void connection::notify(std::string_view method) { put(write_rpc_notification(method, {})); }

IPYBOX_DECL void connection::abandon(request_id id, std::string_view reason) {
    auto const found = requests_.find(id);
    if (found == requests_.end()) return;
    auto const notice = book_.abandon(id, reason);
    if (notice && found->second.terms.may_cancel && found->second.is_written) put(*notice);
    requests_.erase(found);
}

IPYBOX_DECL void connection::on_message(rpc_message const& message) { on_meaning(book_.take(message)); }

IPYBOX_DECL void connection::on_meaning(rpc_machine::step const& meaning) {
    if (auto const* const a = std::get_if<rpc_machine::answered>(&meaning)) conclude(a->request, a->result);
    if (auto const* const r = std::get_if<rpc_machine::refused>(&meaning)) conclude(r->request, r->why);
    if (auto const* const g = std::get_if<rpc_machine::garbled>(&meaning))
        conclude(g->request, error(errc::protocol_error, "sent an answer that is not whole JSON"));
    if (auto const* const r = std::get_if<rpc_machine::reply>(&meaning)) put(r->message, message_kind::answer);
    if (std::holds_alternative<rpc_machine::tools_changed>(meaning) && on_tools_changed_) on_tools_changed_();
    if (auto const* const p = std::get_if<rpc_machine::progressed>(&meaning)) {
        auto const found = requests_.find(p->request);
        if (found == requests_.end()) return;
        // At once, so that the outcome is not faster. A copy: it may come back.
        auto const call = found->second.terms.on_progress;
        tell(call, p->made);
    }
}

IPYBOX_DECL void connection::conclude(request_id id, rpc_outcome outcome) {
    auto const found = requests_.find(id);
    if (found == requests_.end()) return;
    auto request = std::move(found->second);
    requests_.erase(found);
    book_.forget(id);
    request.on_outcome(std::move(outcome));
}

/// One timer for all: it goes off at the earliest deadline, and at times for a request that has been answered
/// meanwhile.
IPYBOX_DECL void connection::watch_deadlines() {
    auto const next = book_.deadline();
    if (next >= watched_) return;
    watched_ = next;
    deadline_.expires_at(next);
    deadline_.async_wait(ipybox::detail::wait_handler([weak = weak_from_this()](asio::error_code cancelled) {
        auto const self = weak.lock();
        if (self && !cancelled) self->end_overdue();
    }));
}

IPYBOX_DECL void connection::end_overdue() {
    watched_ = rpc_machine::clock::time_point::max();
    for (auto const id : book_.overdue(rpc_machine::clock::now())) {
        auto const found = requests_.find(id);
        if (found == requests_.end()) continue;
        auto handler = std::move(found->second.on_outcome);
        abandon(id, "the time budget of the call ran out");
        handler(error(errc::timed_out, "did not answer in time"));
    }
    watch_deadlines();
}

IPYBOX_DECL void connection::finish(error why) {
    if (end_) return;
    end_ = std::move(why);
    deadline_.cancel();
    ended_.cancel();
    auto open = std::exchange(requests_, {});
    for (auto& [id, request] : open) {
        book_.forget(id);
        request.on_outcome(*end_);
    }
}

IPYBOX_DECL asio::awaitable<error> connection::finished() {
    auto const self = shared_from_this();
    asio::error_code cancelled;
    while (!end_) co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    co_return *end_;
}

IPYBOX_DECL asio::awaitable<void> connection::close() {
    auto const self = shared_from_this();
    finish(error(errc::not_running, "was stopped"));
    try {
        co_await channel_->close();
    } catch (...) {} // NOLINT(bugprone-empty-catch): it is let go of either way
}

} // namespace ipybox::mcp::detail
