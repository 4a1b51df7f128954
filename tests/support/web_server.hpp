#pragma once

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/** \file
 * A scripted server of HTTP/1.1, on the context of the test.
 */

namespace ipybox::test {

/// A request as it came, its names of fields in lower case.
struct web_request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;
    std::string body;

    [[nodiscard]] std::string field(std::string const& name) const {
        auto const found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
    }
    [[nodiscard]] nlohmann::json message() const { return nlohmann::json::parse(body, nullptr, false); }
};

/// Sends the answer to one request, piece by piece.
class web_answer {
  public:
    explicit web_answer(asio::ip::tcp::socket& socket) : socket_(socket) {}

    /// All of an answer, with a further field of its head.
    asio::awaitable<void> whole(int status, std::string body, std::string type = "application/json",
                                std::string field = {}) {
        auto text = head(status, field);
        text += "Content-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        return send(std::move(text));
    }

    /// The beginning of a stream of events; `event` goes on with it.
    asio::awaitable<void> begin_events(std::string const& field = {}) {
        is_stream_ = true;
        return send(head(200, field) + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    }
    asio::awaitable<void> event(std::string lines) {
        lines += "\n\n";
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", lines.size());
        return send(size + lines + "\r\n");
    }
    asio::awaitable<void> message(nlohmann::json const& content, std::string before = {}) {
        return event(before + "data: " + content.dump());
    }
    asio::awaitable<void> end_events() {
        is_stream_ = false;
        return send("0\r\n\r\n");
    }

    /// Any bytes.
    asio::awaitable<void> send(std::string text) {
        asio::error_code failed;
        co_await asio::async_write(socket_, asio::buffer(text), asio::redirect_error(asio::use_awaitable, failed));
        has_failed_ = has_failed_ || failed;
    }

    /// Ends the connection, whatever was sent.
    void cut() {
        asio::error_code ignored;
        socket_.close(ignored);
        has_failed_ = true;
    }

    asio::awaitable<void> wait(std::chrono::milliseconds time) {
        asio::steady_timer timer(socket_.get_executor(), time);
        asio::error_code ended;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    }

    /// Waits until the client has closed the connection.
    asio::awaitable<void> closed() {
        asio::error_code ended;
        char byte = 0;
        while (!ended)
            co_await socket_.async_read_some(asio::buffer(&byte, 1), asio::redirect_error(asio::use_awaitable, ended));
        has_failed_ = true;
    }

    /// Whether nothing has failed yet.
    [[nodiscard]] bool is_open() const { return !has_failed_; }
    [[nodiscard]] bool goes_on() const { return !has_failed_ && !is_stream_; }

  private:
    static std::string head(int status, std::string const& field) {
        return "HTTP/1.1 " + std::to_string(status) + " Word\r\n" + (field.empty() ? field : field + "\r\n");
    }

    asio::ip::tcp::socket& socket_;
    bool is_stream_ = false;
    bool has_failed_ = false;
};

class web_server {
  public:
    using handler = std::function<asio::awaitable<void>(web_request const&, web_answer&)>;

    web_server(asio::io_context& context, handler handle)
        : acceptor_(context, {asio::ip::make_address("127.0.0.1"), 0}), handle_(std::move(handle)) {
        asio::co_spawn(context, accept(), [](std::exception_ptr) {});
    }

    [[nodiscard]] std::string url(std::string const& path = "/mcp") const {
        return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + path;
    }

    /// Every request that came.
    std::vector<web_request> requests;
    int connections = 0;

    /// Takes no more connections.
    void close() {
        asio::error_code ignored;
        acceptor_.close(ignored);
    }

  private:
    using socket_ptr = std::shared_ptr<asio::ip::tcp::socket>;

    asio::awaitable<void> accept() {
        for (;;) {
            auto const socket =
                std::make_shared<asio::ip::tcp::socket>(co_await acceptor_.async_accept(asio::use_awaitable));
            ++connections;
            asio::co_spawn(acceptor_.get_executor(), serve(socket), [](std::exception_ptr) {});
        }
    }

    asio::awaitable<void> serve(socket_ptr socket) {
        std::string buffer;
        for (bool goes_on = true; goes_on;) {
            auto const size =
                co_await asio::async_read_until(*socket, asio::dynamic_buffer(buffer), "\r\n\r\n", asio::use_awaitable);
            auto request = parse(std::string_view(buffer).substr(0, size));
            buffer.erase(0, size);
            auto const length = request.field("content-length");
            auto const wanted = length.empty() ? std::size_t(0) : std::stoul(length);
            while (buffer.size() < wanted) {
                char piece[65536];
                auto const got = co_await socket->async_read_some(asio::buffer(piece), asio::use_awaitable);
                buffer.append(piece, got);
            }
            request.body = buffer.substr(0, wanted);
            buffer.erase(0, wanted);
            requests.push_back(request);
            web_answer answer(*socket);
            co_await handle_(request, answer);
            goes_on = answer.goes_on();
        }
    }

    static web_request parse(std::string_view head) {
        web_request request;
        auto line = head.substr(0, head.find("\r\n"));
        request.method = line.substr(0, line.find(' '));
        line.remove_prefix(request.method.size() + 1);
        request.target = line.substr(0, line.find(' '));
        head.remove_prefix(head.find("\r\n") + 2);
        while (!head.starts_with("\r\n")) {
            line = head.substr(0, head.find("\r\n"));
            auto const colon = line.find(':');
            std::string name(line.substr(0, colon));
            for (auto& c : name) c = static_cast<char>(std::tolower(c));
            auto value = line.substr(colon + 1);
            while (value.starts_with(' ')) value.remove_prefix(1);
            request.headers[name] = value;
            head.remove_prefix(line.size() + 2);
        }
        return request;
    }

    asio::ip::tcp::acceptor acceptor_;
    handler handle_;
};

} // namespace ipybox::test
