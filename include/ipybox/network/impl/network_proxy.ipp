#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/async/with_timeout.hpp>
#include <ipybox/core/base64.hpp>
#include <ipybox/network/host_lookup.hpp>
#include <ipybox/network/host_rules.hpp>
#include <ipybox/network/impl/proxy_connection.hpp>
#include <ipybox/network/network_proxy.hpp>
#include <ipybox/sandbox/parent_proxy_url.hpp>

#include <asio/ip/address.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

namespace ipybox::detail {

/// How long no connection is accepted after the system had no descriptor or memory for one.
inline constexpr std::chrono::milliseconds time_without_accepting{100};

inline bool may_pass(asio::error_code const& failed) {
    switch (failed.value()) {
    case ECONNABORTED:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return true;
    default: return false;
    }
}

/// "example.org:443", "[2606:4700::1]:443"
inline std::string authority_of(proxy_request const& wanted) {
    bool const is_ipv6 = wanted.host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + wanted.host + "]" : wanted.host) + ":" + std::to_string(wanted.port);
}

/// Whether the proxy of the network connects with a host. Its names for itself are not those of this machine.
inline bool goes_by_parent(sandbox_config::network_access const& config, std::string_view host) {
    bool const is_local = host == "localhost" || host.ends_with(".localhost");
    return !config.parent_proxy.empty() && !is_local && !is_exception(config.parent_proxy_exceptions, host);
}

/// RFC 7617.
inline std::string authorization_for(parent_proxy_url const& parent) {
    if (parent.credentials.empty()) return {};
    return "Proxy-Authorization: Basic " + base64_encode(parent.credentials) + "\r\n";
}

/// RFC 9110 9.3.6.
inline std::string tunnel_request(proxy_request const& wanted, parent_proxy_url const& parent) {
    auto const authority = authority_of(wanted);
    return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n" + authorization_for(parent) + "\r\n";
}

/// The head of a request with the whole URL as its target (RFC 9112 3.2.2).
inline std::string head_for_parent(proxy_request const& wanted, parent_proxy_url const& parent) {
    auto head = wanted.head;
    head.insert(head.find("\r\n") + 2, authorization_for(parent));
    return head.insert(head.find(' ') + 1, "http://" + authority_of(wanted));
}

/// "407 Proxy Authentication Required" of "HTTP/1.1 407 Proxy Authentication Required".
inline std::string_view status_in(std::string_view head) {
    auto line = head.substr(0, head.find("\r\n"));
    if (!line.starts_with("HTTP/")) return "this is no HTTP";
    return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

inline approval_subject subject_of(proxy_request const& wanted) {
    approval_subject subject;
    subject.kind = approval_subject::action::network;
    subject.host = wanted.host;
    subject.port = wanted.port;
    subject.protocol = name_of(wanted.protocol);
    return subject;
}

inline proxy_refusal refusal_of(error const& why) {
    if (why == errc::approval_rejected) return proxy_refusal::denied;
    return why == errc::timed_out ? proxy_refusal::late : proxy_refusal::unreachable;
}

IPYBOX_DECL network_proxy::network_proxy(asio::any_io_executor executor, os::unique_fd listener,
                                         std::shared_ptr<sandbox_config::network_access const> config,
                                         std::weak_ptr<network_gate> gate, proxy_limits limits)
    : executor_(executor), acceptor_(executor), config_(std::move(config)), gate_(std::move(gate)), limits_(limits),
      room_(executor, asio::steady_timer::time_point::max()) {
    listener_unforked_ = os::unforked(listener.get());
    acceptor_.assign(tcp::v4(), listener.release());
}

IPYBOX_DECL void network_proxy::start() {
    spawn(executor_, accept(shared_from_this()), [self = shared_from_this()](std::exception_ptr) { self->close(); });
}

IPYBOX_DECL void network_proxy::close() {
    asio::error_code ignored;
    listener_unforked_ = os::unforked();
    acceptor_.close(ignored);
    room_.cancel();
    for (auto const& connection : std::exchange(connections_, {})) connection->close();
}

IPYBOX_DECL asio::awaitable<void> network_proxy::accept(std::shared_ptr<network_proxy> self) {
    while (self->acceptor_.is_open()) {
        co_await self->wait_for_room();
        tcp::socket client(self->executor_);
        asio::error_code failed;
        co_await self->acceptor_.async_accept(client, asio::redirect_error(asio::use_awaitable, failed));
        if (!failed) {
            self->begin(std::move(client));
            continue;
        }
        if (!may_pass(failed)) break;
        asio::steady_timer pause(self->executor_, time_without_accepting);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
    }
}

IPYBOX_DECL asio::awaitable<void> network_proxy::wait_for_room() {
    while (connections_.size() >= limits_.connections) {
        asio::error_code woken;
        co_await room_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
}

IPYBOX_DECL void network_proxy::begin(tcp::socket client) {
    auto const connection = std::make_shared<proxy_connection>(std::move(client));
    connections_.insert(connection);
    auto const ended = [self = shared_from_this(), connection](std::exception_ptr) {
        connection->close();
        self->connections_.erase(connection);
        self->room_.cancel();
    };
    spawn(executor_, serve(shared_from_this(), connection), ended, connection->slot());
}

IPYBOX_DECL asio::awaitable<void> network_proxy::serve(std::shared_ptr<network_proxy> self, connection_ptr connection) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto wanted = co_await connection->read_request(self->limits_.head);
    if (wanted) co_await self->connect(connection, std::move(*wanted));
    co_await connection->finish();
}

IPYBOX_DECL asio::awaitable<void> network_proxy::connect(connection_ptr connection, proxy_request wanted) {
    auto const gate = gate_.lock();
    if (!gate) co_return;
    auto subject = subject_of(wanted);
    auto const said = co_await decide(*gate, connection, subject);
    if (!said.accepted()) {
        auto why = "the connection to " + authority_of(wanted) + " is rejected: " + std::string(said.made.reason());
        (void)co_await connection->tell(refused_answer(wanted.protocol, proxy_refusal::denied, why));
        co_return;
    }
    auto const how = co_await carry_out(connection, std::move(wanted));
    gate->connection_ended(subject, how);
}

IPYBOX_DECL asio::awaitable<verdict> network_proxy::decide(network_gate& gate, connection_ptr connection,
                                                           approval_subject& subject) {
    auto said = decide_host(*config_, subject.host, subject.port);
    if (said.effect != rule_effect::ask) {
        auto made = said.effect == rule_effect::allow ? decision::accept() : decision::reject(std::move(said.reason));
        verdict settled{std::move(made), error::decider::sandbox, std::move(said.rule)};
        co_return gate.settle_connection(subject, std::move(settled));
    }
    connection->watch_client();
    auto made = co_await gate.approve_connection(subject);
    connection->ignore_client();
    co_return made;
}

/// Connects, brings the bytes, and says how it ended.
IPYBOX_DECL asio::awaitable<action_outcome> network_proxy::carry_out(connection_ptr connection, proxy_request wanted) {
    auto const began = std::chrono::steady_clock::now();
    action_outcome how;
    auto const dialled = co_await dial(connection, wanted);
    if (dialled) {
        bool const told = co_await connection->tell(established_answer(wanted.protocol));
        if (told) co_await connection->relay(std::move(wanted.head), limits_.idle);
        how.sent = connection->sent();
        how.received = connection->received();
    } else {
        auto const& why = dialled.error();
        how.failure = why.code();
        how.why = why.text();
        (void)co_await connection->tell(refused_answer(wanted.protocol, refusal_of(why), why.text()));
    }
    how.duration = std::chrono::steady_clock::now() - began;
    co_return how;
}

IPYBOX_DECL asio::awaitable<result<void>> network_proxy::dial(connection_ptr connection, proxy_request& wanted) {
    if (goes_by_parent(*config_, wanted.host)) co_return co_await dial_by_parent(connection, wanted);
    co_return co_await dial_host(connection, wanted);
}

/// Looks up the host once, and connects with what was found and may be reached, in that order.
IPYBOX_DECL asio::awaitable<result<void>> network_proxy::dial_host(connection_ptr connection,
                                                                   proxy_request const& wanted) {
    auto const until = std::chrono::steady_clock::now() + limits_.dial;
    auto found = co_await with_timeout(look_up_host(config_, wanted.host), limits_.dial);
    if (!found) co_return failure(errc::timed_out, wanted.host + " was not found in time");
    if (!*found) co_return failure(*found);
    auto reachable = reachable_addresses(*config_, wanted.host, **found, own_addresses(), wanted.port);
    if (!reachable) co_return failure(reachable);
    std::vector<tcp::endpoint> places;
    for (auto const& address : *reachable) places.emplace_back(address, wanted.port);
    co_return co_await connect_with(connection, authority_of(wanted), std::move(places), until);
}

/// Has the proxy of the network connect with a host. It is the user's: its own address may be any.
IPYBOX_DECL asio::awaitable<result<void>> network_proxy::dial_by_parent(connection_ptr connection,
                                                                        proxy_request& wanted) {
    auto const until = std::chrono::steady_clock::now() + limits_.dial;
    asio::error_code is_name;
    auto const address = asio::ip::make_address(wanted.host, is_name);
    if (!is_name) {
        std::vector<asio::ip::address> const itself{address};
        auto const reachable = reachable_addresses(*config_, wanted.host, itself, own_addresses(), wanted.port);
        if (!reachable) co_return failure(reachable.error());
    }
    auto const parent = parent_proxy_url::parse(config_->parent_proxy);
    if (!parent) co_return failure(parent.error());
    proxy_request const way{proxy_protocol::connect, parent->host, parent->port};
    auto const name = "the proxy " + authority_of(way);
    auto found = co_await with_timeout(look_up_host(config_, parent->host), limits_.dial);
    if (!found) co_return failure(errc::timed_out, name + " was not found in time");
    if (!*found) co_return failure(*found);
    std::vector<tcp::endpoint> places;
    for (auto const& each : **found) places.emplace_back(each, parent->port);
    auto connected = co_await connect_with(connection, name, std::move(places), until);
    if (!connected) co_return connected;
    if (wanted.protocol == proxy_protocol::http) {
        wanted.head = head_for_parent(wanted, *parent);
        co_return result<void>();
    }
    auto const answer = co_await connection->ask_parent(tunnel_request(wanted, *parent), until);
    if (!answer) co_return failure(errc::io_error, name + " did not say whether it connects with " + wanted.host);
    auto const status = status_in(*answer);
    if (status.starts_with('2')) co_return result<void>();
    co_return failure(errc::io_error,
                      name + " refuses the connection with " + authority_of(wanted) + ": " + reason_phrase(status));
}

IPYBOX_DECL asio::awaitable<result<void>> network_proxy::connect_with(connection_ptr connection, std::string name,
                                                                      std::vector<tcp::endpoint> places,
                                                                      std::chrono::steady_clock::time_point until) {
    asio::error_code failed = asio::error::host_not_found;
    for (auto const& place : places) {
        if (connection->is_closed()) co_return failure(errc::cancelled);
        failed = co_await connection->connect_to(place, until);
        if (!failed) co_return result<void>();
        if (std::chrono::steady_clock::now() >= until)
            co_return failure(errc::timed_out, name + " did not answer in time");
    }
    co_return failure(errc::io_error, name + " cannot be reached: " + failed.message());
}

} // namespace ipybox::detail
