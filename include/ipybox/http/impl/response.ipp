#pragma once

#include <ipybox/async/await_completion.hpp>
#include <ipybox/http/response.hpp>

#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <utility>

namespace ipybox::http {

IPYBOX_DECL response::~response() {
    if (!is_ended_ && on_end_) on_end_();
}

IPYBOX_DECL asio::awaitable<result<response_head>> response::head() {
    auto const self = shared_from_this();
    for (;;) {
        {
            std::scoped_lock const lock(mutex_);
            if (head_) co_return *head_;
            if (why_) co_return failure(*why_);
        }
        co_await changed();
    }
}

IPYBOX_DECL asio::awaitable<result<std::string>> response::read() {
    auto const self = shared_from_this();
    for (bool has_waited = false;; has_waited = true) {
        std::string piece;
        bool was_held_back = false;
        {
            std::scoped_lock const lock(mutex_);
            if (body_.empty()) {
                if (why_) co_return failure(*why_);
                if (is_complete_) co_return std::string();
            }
            piece = std::exchange(body_, {});
            was_held_back = std::exchange(is_held_back_, false);
        }
        if (was_held_back) on_room_();
        // A server may send without end, faster than it is read: others have their turn.
        if (!piece.empty() && !has_waited) {
            auto const current = co_await asio::this_coro::executor;
            co_await asio::post(current, asio::use_awaitable);
        }
        if (!piece.empty()) co_return piece;
        co_await changed();
    }
}

IPYBOX_DECL asio::awaitable<result<std::string>> response::read_all(std::size_t longest) {
    std::string whole;
    for (;;) {
        auto piece = co_await read();
        if (!piece) co_return piece;
        if (piece->empty()) co_return whole;
        if (whole.size() + piece->size() > longest)
            co_return failure(errc::message_too_large,
                              "sent an answer of more than " + std::to_string(longest) + " bytes");
        whole.append(*piece);
    }
}

IPYBOX_DECL void response::end() {
    if (is_ended_.exchange(true) || !owner_.is_this()) return;
    finish(error(errc::cancelled, "the answer is not waited for"));
    on_end_();
}

IPYBOX_DECL void response::leave() {
    if (is_ended_.exchange(true) || !owner_.is_this()) return;
    finish(error(errc::cancelled, "the answer is not waited for"));
    on_leave_();
}

IPYBOX_DECL void response::take_head(response_head head) {
    std::unique_lock lock(mutex_);
    head_ = std::move(head);
    tell(std::move(lock));
}

IPYBOX_DECL bool response::take(std::string_view piece) {
    std::unique_lock lock(mutex_);
    if (body_.size() + piece.size() > most_kept && !body_.empty()) {
        is_held_back_ = true;
        return false;
    }
    body_.append(piece);
    tell(std::move(lock));
    return true;
}

/// The first reason counts.
IPYBOX_DECL void response::finish(std::optional<error> why) {
    std::unique_lock lock(mutex_);
    if (is_complete_) return;
    is_complete_ = true;
    why_ = std::move(why);
    tell(std::move(lock));
}

IPYBOX_DECL void response::tell(std::unique_lock<std::mutex> lock) {
    has_changed_ = true;
    auto waiter = std::exchange(waiter_, {});
    lock.unlock();
    if (waiter) waiter(true);
}

IPYBOX_DECL asio::awaitable<void> response::changed() {
    auto const begin = [this](ipybox::detail::completion<bool> done) {
        std::unique_lock lock(mutex_);
        if (!std::exchange(has_changed_, false)) {
            waiter_ = std::move(done);
            return;
        }
        lock.unlock();
        done(true);
    };
    (void)co_await ipybox::detail::await_completion<bool>(begin);
    std::scoped_lock const lock(mutex_);
    has_changed_ = false;
}

} // namespace ipybox::http
