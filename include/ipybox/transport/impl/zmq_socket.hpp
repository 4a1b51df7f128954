#pragma once

#include <ipybox/async/wait_handler.hpp>
#include <ipybox/core/config.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error_code.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <zmq.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ipybox::detail {

/**
 * \brief A ZeroMQ socket that an Asio executor waits for.
 * \details `ZMQ_FD` tells that something changed, not what, and it may say so to a send as well as to a receive. Hence:
 * receive until there is nothing, then `arm`, and do the same again after a send. Asio renews its registration with
 * each wait, so that a change in between is not lost.
 */
class zmq_socket {
  public:
    zmq_socket(zmq::context_t& context, zmq::socket_type type, asio::any_io_executor const& executor)
        : socket_(context, type), readiness_(executor) {
        socket_.set(zmq::sockopt::linger, 0);
        // With a high-water mark messages get lost while they are not read, and with them the end of a cell.
        socket_.set(zmq::sockopt::rcvhwm, 0);
        socket_.set(zmq::sockopt::sndhwm, 0);
        readiness_.assign(socket_.get(zmq::sockopt::fd));
    }
    zmq_socket(zmq_socket const&) = delete;
    zmq_socket& operator=(zmq_socket const&) = delete;

    ~zmq_socket() { readiness_.release(); } // libzmq closes its descriptor itself

    [[nodiscard]] zmq::socket_t& native() noexcept { return socket_; }

    /// Takes one message; false when there is none. Of its frames at most `limit` are kept.
    [[nodiscard]] bool take(std::vector<zmq::message_t>& frames, std::size_t limit) {
        frames.clear();
        try {
            zmq::message_t frame;
            while (socket_.recv(frame, zmq::recv_flags::dontwait)) {
                bool const more = frame.more();
                if (frames.size() < limit) frames.push_back(std::move(frame));
                if (!more) return true;
                frame.rebuild();
            }
        } catch (zmq::error_t const&) {
            // A signal came in between: the descriptor is still readable then.
        }
        return false;
    }

    /// Queues one message; false when there is no peer.
    [[nodiscard]] bool put(std::vector<std::string> const& frames) {
        try {
            for (std::size_t i = 0; i < frames.size(); ++i) {
                auto const more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
                if (!socket_.send(zmq::buffer(frames[i]), more | zmq::send_flags::dontwait)) return false;
            }
            return true;
        } catch (zmq::error_t const&) { return false; }
    }

    /// Calls `wake` once, as soon as something has changed since the last look.
    template <class Wake>
    void arm(Wake wake) {
        if (*armed_) return;
        *armed_ = true;
        readiness_.async_wait(asio::posix::stream_descriptor::wait_read,
                              wait_handler([armed = armed_, wake = std::move(wake)](asio::error_code) {
                                  *armed = false;
                                  wake();
                              }));
    }

  private:
    zmq::socket_t socket_;
    asio::posix::stream_descriptor readiness_;
    std::shared_ptr<bool> armed_ = std::make_shared<bool>(false); // outlives the socket in handlers that wait to run
};

/// The state of a socket's connection, told by libzmq's own thread over a socket pair inside the process.
class zmq_monitor {
  public:
    zmq_monitor(zmq::context_t& context, zmq_socket& watched, std::string const& name,
                asio::any_io_executor const& executor)
        : watched_(watched), events_(context, zmq::socket_type::pair, executor) {
        auto const address = "inproc://" + name;
        int const wanted = ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
                           ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                           ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
        if (::zmq_socket_monitor(watched.native().handle(), address.c_str(), wanted) != 0) throw zmq::error_t();
        events_.native().connect(address);
    }

    zmq_monitor(zmq_monitor const&) = delete;
    zmq_monitor& operator=(zmq_monitor const&) = delete;

    /// Before the watched socket ends: libzmq would leak what it cannot tell any more.
    ~zmq_monitor() { (void)::zmq_socket_monitor(watched_.native().handle(), nullptr, 0); }

    /// Reads what has been told since the last look.
    void look() {
        while (events_.take(frames_, 2)) {
            if (frames_.empty() || frames_[0].size() < sizeof(std::uint16_t)) continue;
            std::uint16_t event = 0;
            std::memcpy(&event, frames_[0].data(), sizeof event);
            switch (event) {
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: up_ = true; break;
            case ZMQ_EVENT_DISCONNECTED: (up_ ? down_ : refused_) = true; break;
            case ZMQ_EVENT_CONNECT_RETRIED: refused_ = !up_; break;
            default: refused_ = true; break;
            }
        }
    }

    [[nodiscard]] bool up() const noexcept { return up_; }           ///< has been connected
    [[nodiscard]] bool down() const noexcept { return down_; }       ///< was connected and is no more
    [[nodiscard]] bool refused() const noexcept { return refused_; } ///< could not be connected

    template <class Wake>
    void arm(Wake wake) {
        events_.arm(std::move(wake));
    }

  private:
    zmq_socket& watched_;
    zmq_socket events_;
    std::vector<zmq::message_t> frames_;
    bool up_ = false;
    bool down_ = false;
    bool refused_ = false;
};

} // namespace ipybox::detail
