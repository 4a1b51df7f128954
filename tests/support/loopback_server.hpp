#pragma once

#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/write.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/** \file
 * Servers on the loopback of this machine.
 */

namespace ipybox::test {

using asio::ip::tcp;

/// A server that serves each connection on a thread of its own.
class loopback_server {
  public:
    using service = std::function<void(tcp::socket&)>;

    explicit loopback_server(service serve)
        : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), thread_([this, serve] {
              for (;;) {
                  asio::error_code failed;
                  tcp::socket client(context_);
                  acceptor_.accept(client, failed);
                  if (failed || ending_) return;
                  ++connections;
                  threads_.emplace_back([serve, socket = std::move(client)]() mutable { serve(socket); });
              }
          }) {}
    ~loopback_server() {
        ending_ = true;
        asio::error_code ignored;
        tcp::socket last(context_);
        last.connect(acceptor_.local_endpoint(), ignored);
        thread_.join();
        for (auto& thread : threads_) thread.join();
    }
    [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    std::atomic<int> connections = 0;

  private:
    asio::io_context context_;
    tcp::acceptor acceptor_;
    std::atomic<bool> ending_ = false;
    std::vector<std::thread> threads_;
    std::thread thread_;
};

inline std::string read_all(tcp::socket& socket) {
    std::string text;
    asio::error_code end;
    asio::read(socket, asio::dynamic_buffer(text), end);
    return text;
}

inline std::string read_head(tcp::socket& socket) {
    std::string text;
    asio::error_code end;
    // What follows may be there already, and is left there.
    for (char c = 0; !end && !text.ends_with("\r\n\r\n");)
        if (asio::read(socket, asio::buffer(&c, 1), end) == 1) text += c;
    return text;
}

/// Answers an HTTP request with its head.
inline void answer_with_head(tcp::socket& socket) {
    auto const head = read_head(socket);
    asio::error_code gone;
    asio::write(socket, asio::buffer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head), gone);
}

/// Sends everything back, and ends when the client has.
inline void echo(tcp::socket& socket) {
    auto const text = read_all(socket);
    asio::error_code gone;
    asio::write(socket, asio::buffer(text), gone);
}

} // namespace ipybox::test
