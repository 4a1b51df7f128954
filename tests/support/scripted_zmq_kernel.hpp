#pragma once

#include <ipybox/jupyter/connection_info.hpp>
#include <ipybox/jupyter/wire_format.hpp>

#include <zmq.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace ipybox::test {

/// A kernel on ZeroMQ sockets that a test writes: it says who it is, and does what its script does with every other
/// request.
class scripted_zmq_kernel {
  public:
    using message = jupyter::message;
    using channel = jupyter::message::channel;

    /// A request, and the way back to the side that sent it.
    class request : public message {
      public:
        request(scripted_zmq_kernel& kernel, message m, std::string from)
            : message(std::move(m)), kernel_(kernel), from_(std::move(from)) {}

        /// Says something on the channel of the request; a parent's id of "" stands for the request's own.
        void answer(std::string kind, std::string parent = "") const {
            message m(on, std::move(kind), jupyter::json::object());
            m.parent_header = {{"msg_id", parent.empty() ? id : parent}};
            kernel_.send(on, from_, std::move(m));
        }

        void publish(std::string kind, jupyter::json what) const {
            message m(channel::iopub, std::move(kind), std::move(what));
            m.parent_header = {{"msg_id", id}};
            kernel_.send(channel::iopub, std::string(m.type), std::move(m));
        }

      private:
        scripted_zmq_kernel& kernel_;
        std::string from_;
    };

    using script = std::function<void(request const&)>;

    scripted_zmq_kernel(std::filesystem::path const& dir, script does)
        : file(dir / "kernel.json"), info_(addresses(dir)), does_(std::move(does)) {
        for (auto* socket : {&shell_, &control_, &iopub_}) socket->set(zmq::sockopt::sndhwm, 0); // nothing is dropped
        shell_.bind(info_.address(channel::shell));
        control_.bind(info_.address(channel::control));
        stdin_.bind(info_.address(channel::stdin_));
        iopub_.bind(info_.address(channel::iopub));
        (void)jupyter::write_connection_file(file, info_);
        thread_ = std::thread([this] { serve(); });
    }

    scripted_zmq_kernel(scripted_zmq_kernel const&) = delete;
    scripted_zmq_kernel& operator=(scripted_zmq_kernel const&) = delete;

    ~scripted_zmq_kernel() {
        context_.shutdown(); // ends the thread's wait
        thread_.join();
    }

    std::filesystem::path const file; ///< its connection file

  private:
    static jupyter::connection_info addresses(std::filesystem::path const& dir) {
        jupyter::connection_info info;
        info.protocol = jupyter::socket_protocol::ipc;
        info.ip = (dir / "k").string();
        info.shell_port = 1;
        info.iopub_port = 2;
        info.stdin_port = 3;
        info.control_port = 4;
        info.hb_port = 5;
        info.key = "not a secret";
        return info;
    }

    void serve() {
        try {
            for (;;) {
                zmq::pollitem_t items[] = {{shell_.handle(), 0, ZMQ_POLLIN, 0}, {control_.handle(), 0, ZMQ_POLLIN, 0}};
                zmq::poll(items, 2, std::chrono::milliseconds(-1));
                if ((items[0].revents & ZMQ_POLLIN) != 0) take(channel::shell, shell_);
                if ((items[1].revents & ZMQ_POLLIN) != 0) take(channel::control, control_);
            }
        } catch (zmq::error_t const&) {} // the context has been shut down
    }

    void take(channel on, zmq::socket_t& from) {
        std::vector<std::string> frames;
        do {
            zmq::message_t frame;
            (void)from.recv(frame);
            frames.push_back(frame.to_string());
        } while (from.get(zmq::sockopt::rcvmore));
        std::vector<std::string_view> const views(frames.begin(), frames.end());
        if (auto m = jupyter::from_wire(on, views, signer_)) obey(request(*this, std::move(*m), frames[0]));
    }

    void obey(request const& asked) {
        asked.publish("status", {{"execution_state", "busy"}});
        if (asked.type == "kernel_info_request") asked.answer("kernel_info_reply");
        does_(asked);
        asked.publish("status", {{"execution_state", "idle"}});
    }

    void send(channel on, std::string const& to, message m) {
        auto& socket = on == channel::shell ? shell_ : on == channel::control ? control_ : iopub_;
        auto frames = jupyter::to_wire(m, signer_);
        socket.send(zmq::buffer(to), zmq::send_flags::sndmore);
        for (std::size_t i = 0; i < frames.size(); ++i)
            socket.send(zmq::buffer(frames[i]),
                        i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }

    jupyter::connection_info info_;
    jupyter::signer signer_{info_.key};
    script does_;
    zmq::context_t context_{1};
    zmq::socket_t shell_{context_, zmq::socket_type::router};
    zmq::socket_t control_{context_, zmq::socket_type::router};
    zmq::socket_t stdin_{context_, zmq::socket_type::router};
    zmq::socket_t iopub_{context_, zmq::socket_type::pub};
    std::thread thread_;
};

} // namespace ipybox::test
