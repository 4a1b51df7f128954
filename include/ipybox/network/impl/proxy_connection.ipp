#pragma once

#include <ipybox/async/emit_cancellation.hpp>
#include <ipybox/async/spawn.hpp>
#include <ipybox/async/wait_handler.hpp>
#include <ipybox/network/impl/proxy_connection.hpp>

#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ipybox::detail {

/// The bytes that are read at once.
inline constexpr std::size_t relayed_at_once = std::size_t(32) << 10;

/// The time in which a refused client reads the answer, and the bytes of it that are dropped meanwhile.
inline constexpr std::chrono::seconds time_to_finish{2};
inline constexpr std::size_t most_dropped = std::size_t(1) << 20;

IPYBOX_DECL proxy_connection::proxy_connection(tcp::socket client)
    : client_(std::move(client)), server_(client_.get_executor()), deadline_(client_.get_executor()),
      uploaded_(client_.get_executor(), clock::time_point::max()), client_unforked_(client_.native_handle()) {
    asio::error_code ignored;
    client_.set_option(tcp::no_delay(true), ignored);
}

IPYBOX_DECL void proxy_connection::at(clock::time_point when, std::function<void()> act) {
    deadline_.expires_at(when);
    deadline_.async_wait(wait_handler([self = shared_from_this(), act = std::move(act)](asio::error_code cancelled) {
        if (!cancelled) act();
    }));
}

// --- before there is a server --------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<std::optional<proxy_request>>
proxy_connection::read_request(std::chrono::milliseconds bound) {
    at(clock::now() + bound, [this] { close_client(); });
    std::array<char, 4096> room;
    for (;;) {
        asio::error_code end;
        auto const count =
            co_await client_.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, end));
        if (end) co_return std::nullopt;
        auto step = handshake_.feed(std::string_view(room.data(), count));
        if (auto* const reply = std::get_if<proxy_handshake::reply>(&step)) {
            bool const told = co_await tell(std::move(reply->bytes));
            if (!told) co_return std::nullopt;
            step = handshake_.feed({});
        }
        if (auto* const wanted = std::get_if<proxy_request>(&step)) {
            deadline_.cancel();
            co_return std::move(*wanted);
        }
        if (auto* const refused = std::get_if<proxy_handshake::malformed>(&step)) {
            (void)co_await tell(std::move(refused->answer));
            co_return std::nullopt;
        }
    }
}

IPYBOX_DECL void proxy_connection::watch_client() {
    client_.async_wait(tcp::socket::wait_read, [weak = weak_from_this()](asio::error_code cancelled) {
        auto const self = weak.lock();
        if (!self || cancelled) return;
        char next = 0;
        auto const seen = ::recv(self->client_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
        if (seen < 0 && errno == EAGAIN) return self->watch_client(); // an event of a descriptor that was closed
        if (seen <= 0) self->close();
    });
}

IPYBOX_DECL void proxy_connection::ignore_client() {
    asio::error_code ignored;
    client_.cancel(ignored);
}

IPYBOX_DECL asio::awaitable<asio::error_code> proxy_connection::connect_to(tcp::endpoint server,
                                                                           clock::time_point until) {
    close_server();
    asio::error_code failed;
    server_.open(server.protocol(), failed);
    if (failed) co_return failed;
    server_unforked_ = os::unforked(server_.native_handle());
    at(until, [this] { close_server(); });
    co_await server_.async_connect(server, asio::redirect_error(asio::use_awaitable, failed));
    deadline_.cancel();
    asio::error_code ignored;
    if (!failed) server_.set_option(tcp::no_delay(true), ignored);
    co_return failed;
}

IPYBOX_DECL asio::awaitable<std::optional<std::string>> proxy_connection::ask_parent(std::string request,
                                                                                     clock::time_point until) {
    constexpr std::string_view end_of_head = "\r\n\r\n";
    at(until, [this] { close_server(); });
    asio::error_code failed;
    co_await asio::async_write(server_, asio::buffer(request), asio::redirect_error(asio::use_awaitable, failed));
    std::string answer;
    std::array<char, 1024> room;
    auto end = std::string::npos;
    while (!failed && end == std::string::npos && answer.size() < largest_proxy_head) {
        auto const count =
            co_await server_.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, failed));
        answer.append(room.data(), count);
        end = answer.find(end_of_head);
    }
    deadline_.cancel();
    if (end == std::string::npos) co_return std::nullopt;
    early_ = answer.substr(end + end_of_head.size());
    answer.resize(end);
    co_return answer;
}

IPYBOX_DECL asio::awaitable<bool> proxy_connection::tell(std::string bytes) {
    asio::error_code gone;
    if (!bytes.empty())
        co_await asio::async_write(client_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, gone));
    co_return !gone;
}

// --- between client and server -------------------------------------------------------------------------------------------

IPYBOX_DECL void proxy_connection::end_when_idle(std::chrono::milliseconds idle) {
    auto const act = [this, idle] {
        if (clock::now() - used_ >= idle) return close();
        end_when_idle(idle);
    };
    at(used_ + idle, act);
}

IPYBOX_DECL asio::awaitable<void> proxy_connection::relay(std::string head, std::chrono::milliseconds idle) {
    used_ = clock::now();
    end_when_idle(idle);
    received_ += early_.size();
    bool const is_there = co_await tell(std::exchange(early_, {}));
    if (!is_there) co_return;
    auto const first = std::move(head) + handshake_.take_rest();
    asio::error_code broken;
    co_await asio::async_write(server_, asio::buffer(first), asio::redirect_error(asio::use_awaitable, broken));
    if (broken) co_return;
    sent_ += first.size();
    uploading_ = true;
    auto const uploaded = [self = shared_from_this()](std::exception_ptr) {
        self->uploading_ = false;
        self->uploaded_.cancel();
    };
    spawn(client_.get_executor(), upload(shared_from_this()), uploaded);
    co_await bring(server_, client_, received_);
    while (uploading_) {
        asio::error_code woken;
        co_await uploaded_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    deadline_.cancel();
}

IPYBOX_DECL asio::awaitable<void> proxy_connection::upload(std::shared_ptr<proxy_connection> self) {
    co_await self->bring(self->client_, self->server_, self->sent_);
}

/// One direction. Its end is passed on, and the other direction goes on; an end that is no orderly one ends both.
IPYBOX_DECL asio::awaitable<void> proxy_connection::bring(tcp::socket& from, tcp::socket& to, std::uint64_t& count) {
    std::vector<char> room(relayed_at_once);
    asio::error_code end;
    for (;;) {
        auto const size =
            co_await from.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, end));
        if (end) break;
        used_ = clock::now();
        co_await asio::async_write(to, asio::buffer(room.data(), size), asio::redirect_error(asio::use_awaitable, end));
        if (end) break;
        count += size;
        used_ = clock::now();
    }
    asio::error_code ignored;
    if (end == asio::error::eof)
        to.shutdown(tcp::socket::shutdown_send, ignored);
    else
        close();
}

// --- the end -------------------------------------------------------------------------------------------------------------

IPYBOX_DECL asio::awaitable<void> proxy_connection::finish() {
    if (closed_) co_return;
    asio::error_code end;
    client_.shutdown(tcp::socket::shutdown_send, end);
    at(clock::now() + time_to_finish, [this] { close_client(); });
    std::array<char, 4096> room;
    for (std::size_t dropped = 0; !end && dropped < most_dropped;)
        dropped += co_await client_.async_read_some(asio::buffer(room), asio::redirect_error(asio::use_awaitable, end));
    deadline_.cancel();
}

IPYBOX_DECL void proxy_connection::close() {
    closed_ = true;
    deadline_.cancel();
    close_client();
    close_server();
    emit_cancellation(cancel_);
}

IPYBOX_DECL void proxy_connection::close_client() {
    asio::error_code ignored;
    client_unforked_ = os::unforked();
    client_.close(ignored);
}

IPYBOX_DECL void proxy_connection::close_server() {
    asio::error_code ignored;
    server_unforked_ = os::unforked();
    server_.close(ignored);
}

} // namespace ipybox::detail
