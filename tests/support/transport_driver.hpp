#pragma once

#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/transport/transport.hpp>

#include <support/coroutines.hpp>

#include <asio/io_context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/** \file
 * Runs transports in a test, without an executor.
 */

namespace ipybox::test {

/// What a cell said.
struct cell {
    std::string out;   ///< text on stdout
    std::string err;   ///< text on stderr
    std::string value; ///< text/plain of its value
    std::string status;
    std::string ename;
    std::vector<std::string> traceback;
    std::optional<error> failed; ///< of send or receive
};

/// A transport with a kernel, driven from the thread of the test.
template <class Transport>
class transport_driver {
  public:
    transport_driver(Transport t, supervisor_options const& options)
        : host_(std::make_shared<kernel_host>(context_.get_executor(), [options] { return options; })),
          transport_(std::move(t)) {}

    ~transport_driver() { run(context_, transport_.stop()); }

    [[nodiscard]] asio::io_context& context() noexcept { return context_; }
    [[nodiscard]] Transport& transport() noexcept { return transport_; }
    [[nodiscard]] std::shared_ptr<kernel_host> const& host() const noexcept { return host_; }
    [[nodiscard]] std::shared_ptr<supervisor> owner() { return run(context_, host_->obtain()).value(); }

    result<kernel_info> start(kernel_launch launch) {
        return run(context_, transport_.start(host_, std::move(launch)));
    }
    result<void> send(jupyter::message m) { return run(context_, transport_.send(std::move(m))); }
    result<jupyter::message> receive() { return run(context_, transport_.receive()); }
    result<void> interrupt() { return run(context_, transport_.interrupt()); }
    void stop() { run(context_, transport_.stop()); }

    /// Sends a cell; the id of the request.
    std::string submit(std::string code, bool allow_stdin = false) {
        jupyter::json content = {{"code", std::move(code)},    {"silent", false},
                                 {"store_history", true},      {"user_expressions", jupyter::json::object()},
                                 {"allow_stdin", allow_stdin}, {"stop_on_error", false}};
        jupyter::message request(jupyter::message::channel::shell, "execute_request", std::move(content));
        request.id = jupyter::new_message_id();
        auto const id = request.id;
        sent_ = send(std::move(request));
        return id;
    }

    /// Receives until a cell is over.
    cell finish(std::string const& id) {
        cell c;
        if (!sent_) {
            c.failed = sent_.error();
            return c;
        }
        bool replied = false;
        bool idle = transport_traits<Transport>::orders_messages;
        while (!replied || !idle) {
            auto m = receive();
            if (!m) {
                c.failed = m.error();
                return c;
            }
            if (m->parent_id != id) continue;
            if (m->type == "stream") {
                auto const text = jupyter::take_text(*m, "text");
                (jupyter::field(m->content, "name") == "stderr" ? c.err : c.out) += text;
            } else if (m->type == "execute_result") {
                c.value = m->content["data"]["text/plain"].template get<std::string>();
            } else if (m->type == "error") {
                c.ename = jupyter::field(m->content, "ename");
                c.traceback = m->content["traceback"].template get<std::vector<std::string>>();
            } else if (m->type == "status") {
                if (jupyter::field(m->content, "execution_state") == "idle") idle = true;
            } else if (m->type == "execute_reply") {
                c.status = jupyter::field(m->content, "status");
                replied = true;
            }
        }
        return c;
    }

    cell execute(std::string code) { return finish(submit(std::move(code))); }

  private:
    asio::io_context context_{1};
    std::shared_ptr<kernel_host> host_;
    Transport transport_;
    result<void> sent_;
};

} // namespace ipybox::test
