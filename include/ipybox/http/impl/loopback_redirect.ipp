#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/http/form.hpp>
#include <ipybox/http/loopback_redirect.hpp>
#include <ipybox/http/message.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/os/unique_fd.hpp>

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <optional>
#include <string_view>

namespace ipybox::http {
namespace detail {

inline constexpr std::size_t longest_redirect = std::size_t(16) << 10; ///< of the head of its request
inline constexpr int most_redirect_connections = 32;                   ///< browsers open some in advance
inline constexpr std::chrono::seconds longest_redirect_connection{10};

/// A page of its own words alone: nothing of the request is in it.
inline std::string redirect_page(int status, std::string_view title, std::string_view text) {
    auto const body = std::string("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>")
                          .append(title)
                          .append("</title><body><h1>")
                          .append(title)
                          .append("</h1><p>")
                          .append(text)
                          .append("</p></body></html>\n");
    auto const* const word = status == 200 ? " OK" : " Refused";
    return "HTTP/1.1 " + std::to_string(status) + word +
           "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
           "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n" +
           body;
}

/// A request that the browser made.
struct redirect_request {
    std::string method;
    std::string path;
    std::string query;
    fields headers;
};

/// Reads the head of a request, RFC 9112 section 3; none where it is not one.
inline std::optional<redirect_request> read_redirect_request(std::string_view head) {
    redirect_request made;
    auto line = head.substr(0, head.find("\r\n"));
    auto const first = line.find(' ');
    auto const last = line.rfind(' ');
    if (first == std::string_view::npos || last == first || !line.substr(last + 1).starts_with("HTTP/1."))
        return std::nullopt;
    made.method = line.substr(0, first);
    auto const target = line.substr(first + 1, last - first - 1);
    if (target.find(' ') != std::string_view::npos) return std::nullopt;
    auto const question = target.find('?');
    made.path = target.substr(0, question);
    if (question != std::string_view::npos) made.query = target.substr(question + 1);
    for (head.remove_prefix(line.size() + 2); !head.starts_with("\r\n"); head.remove_prefix(line.size() + 2)) {
        line = head.substr(0, head.find("\r\n"));
        auto const colon = line.find(':');
        if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
        auto value = line.substr(colon + 1);
        while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
        while (value.ends_with(' ') || value.ends_with('\t')) value.remove_suffix(1);
        made.headers.add(std::string(line.substr(0, colon)), std::string(value));
    }
    return made;
}

} // namespace detail

struct loopback_redirect::listener {
    using tcp = asio::ip::tcp;
    using self_ptr = std::shared_ptr<listener>;
    using socket_ptr = std::shared_ptr<tcp::socket>;

    listener(asio::any_io_executor const& executor, os::unique_fd socket, std::uint16_t at)
        : acceptor(executor), found(executor), port(at) {
        int const number = socket.release();
        acceptor.assign(tcp::v4(), number);
        kept = os::unforked(number);
    }
    ~listener() { close(); }

    void close() {
        kept = os::unforked();
        asio::error_code ignored;
        acceptor.close(ignored);
    }

    [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port); }

    static asio::awaitable<void> accept(self_ptr self) {
        while (self->acceptor.is_open()) {
            auto const socket = std::make_shared<tcp::socket>(self->acceptor.get_executor());
            asio::error_code failed;
            co_await self->acceptor.async_accept(*socket, asio::redirect_error(asio::use_awaitable, failed));
            if (failed == asio::error::operation_aborted || !self->acceptor.is_open()) co_return;
            if (failed) {
                asio::steady_timer pause(self->acceptor.get_executor(), std::chrono::milliseconds(100));
                co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
            } else if (self->connections < detail::most_redirect_connections) {
                ++self->connections;
                ipybox::detail::spawn(self->acceptor.get_executor(), serve(self, socket),
                                      [self](std::exception_ptr) { --self->connections; });
            }
        }
    }

    static asio::awaitable<void> serve(self_ptr self, socket_ptr socket) {
        asio::steady_timer late(socket->get_executor(), detail::longest_redirect_connection);
        late.async_wait([weak = std::weak_ptr<tcp::socket>(socket)](asio::error_code cancelled) {
            asio::error_code ignored;
            auto const open = weak.lock();
            if (!cancelled && open) open->close(ignored);
        });
        std::string head;
        std::array<char, 4096> piece{};
        asio::error_code failed;
        auto const is_whole = [&head] { return head.find("\r\n\r\n") != std::string::npos; };
        while (!is_whole() && head.size() <= detail::longest_redirect) {
            auto const count = co_await socket->async_read_some(asio::buffer(piece),
                                                                asio::redirect_error(asio::use_awaitable, failed));
            if (failed) co_return;
            head.append(piece.data(), count);
        }
        std::optional<std::string> query;
        auto const page =
            is_whole() ? self->answer(head, query) : detail::redirect_page(431, "Refused", "The request is too long.");
        co_await asio::async_write(*socket, asio::buffer(page), asio::redirect_error(asio::use_awaitable, failed));
        socket->shutdown(tcp::socket::shutdown_send, failed);
        if (query) {
            self->query = std::move(query);
            self->found.cancel();
        }
        // The page gets lost if the connection is closed while bytes of the browser are unread.
        for (std::size_t rest = 0; !failed && rest < detail::longest_redirect;)
            rest += co_await socket->async_read_some(asio::buffer(piece),
                                                     asio::redirect_error(asio::use_awaitable, failed));
    }

    /// The page for a request. The query of the redirect goes into `taken`.
    std::string answer(std::string_view head, std::optional<std::string>& taken) {
        auto const request = detail::read_redirect_request(head.substr(0, head.find("\r\n\r\n") + 4));
        if (!request) return detail::redirect_page(400, "Refused", "This is not a request of a browser.");
        auto const hosts = request->headers.find_all("Host");
        if (hosts.size() != 1 || hosts.front() != host())
            return detail::redirect_page(403, "Refused", "The request names another host.");
        if (request->path != "/callback") return detail::redirect_page(404, "Not found", "Nothing is here.");
        if (request->method != "GET") return detail::redirect_page(405, "Refused", "The method has to be GET.");
        auto const values = parse_form(request->query);
        if (state.empty() || values.find("state") != state)
            return detail::redirect_page(400, "Refused", "The request belongs to another sign-in.");
        if (std::exchange(is_taken, true))
            return detail::redirect_page(409, "Refused", "The sign-in has been answered already.");
        taken = request->query;
        bool const is_refusal = !values.find("error").empty();
        return is_refusal ? detail::redirect_page(200, "Not signed in", "The authorization server refused the sign-in.")
                          : detail::redirect_page(200, "Signed in", "You can close this page.");
    }

    tcp::acceptor acceptor;
    os::unforked kept; ///< of the acceptor
    asio::steady_timer found;
    std::uint16_t const port;
    std::string state;
    std::optional<std::string> query;
    bool is_taken = false;
    int connections = 0;
};

IPYBOX_DECL result<loopback_redirect> loopback_redirect::open(asio::any_io_executor const& executor,
                                                              std::uint16_t port) {
    auto const failed = [] { return failure(ipybox::detail::system_failure("listening on 127.0.0.1", errno)); };
    auto socket = os::make_unforked([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (!socket) return failed();
    int const yes = 1;
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<::sockaddr*>(&at);
    ::socklen_t size = sizeof at;
    constexpr int waiting = 16;
    if (::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), waiting) != 0 ||
        ::getsockname(socket.get(), address, &size) != 0)
        return failed();
    return loopback_redirect(std::make_shared<listener>(executor, std::move(socket), ntohs(at.sin_port)));
}

IPYBOX_DECL loopback_redirect::~loopback_redirect() {
    if (listener_) listener_->close();
}

IPYBOX_DECL std::string loopback_redirect::address() const { return "http://" + listener_->host() + "/callback"; }

IPYBOX_DECL asio::awaitable<result<std::string>> loopback_redirect::wait(std::string state,
                                                                         std::chrono::milliseconds bound) {
    auto const self = listener_;
    self->state = std::move(state);
    self->found.expires_after(bound);
    ipybox::detail::spawn(self->acceptor.get_executor(), listener::accept(self));
    asio::error_code woken;
    co_await self->found.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    self->close();
    if (self->query) co_return *self->query;
    if (!woken) co_return failure(errc::timed_out, "was not signed in to: the browser did not come back in time");
    co_return failure(errc::cancelled, "was not signed in to: the sign-in was cancelled");
}

} // namespace ipybox::http
