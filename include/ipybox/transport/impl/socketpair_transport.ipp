#pragma once

#include <ipybox/async/aside.hpp>
#include <ipybox/async/with_timeout.hpp>
#include <ipybox/core/as_utf8.hpp>
#include <ipybox/core/time_budget.hpp>
#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/os/datagram.hpp>
#include <ipybox/os/unforked.hpp>
#include <ipybox/transport/socketpair_transport.hpp>
#include <ipybox/transport/stream_frame.hpp>
#include <ipybox/transport/transport.hpp>

#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <csignal>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

namespace ipybox {

// Here, so that the header needs none of the types that a transport deals with.
static_assert(transport<socketpair_transport>);
static_assert(transport_traits<socketpair_transport>::can_be_guarded);

/// One kernel's life: made by `start`, shared by what is under way when `stop` lets go of it.
struct socketpair_transport::connection {
    using socket_type = asio::local::stream_protocol::socket;

    connection(asio::any_io_executor const& executor, os::unique_fd fd)
        : socket(executor), written(executor, asio::steady_timer::time_point::max()), socket_unforked(fd.get()) {
        socket.assign(asio::local::stream_protocol(), fd.release());
    }

    /// The next message. Takes its own share of the connection, since a start that took too long leaves it behind.
    static asio::awaitable<result<jupyter::message>> receive(std::shared_ptr<connection> c) {
        for (;;) {
            auto next = c->reader.next_item();
            if (!next) co_return failure(next);
            if (*next) {
                if (auto* const m = std::get_if<jupyter::message>(&**next)) co_return std::move(*m);
                co_return co_await read(c, std::get<unread_message>(std::move(**next)));
            }
            if (c->at_end) { // where Asio may never complete a further read
                auto const why = co_await death(c->process);
                if (auto rest = unforwarded(*c)) co_return std::move(*rest);
                co_return failure(why);
            }
            auto const room = c->reader.prepare();
            asio::error_code end;
            auto const buffer = asio::buffer(room.data(), room.size());
            auto const count =
                co_await c->socket.async_read_some(buffer, asio::redirect_error(asio::use_awaitable, end));
            c->at_end = static_cast<bool>(end);
            if (!end) c->reader.commit(count);
        }
    }

    /// The last output of code whose kernel has died: what it, or a process of it, wrote past Python. A kernel that
    /// dies before it runs code says it in its diagnostics.
    static std::optional<jupyter::message> unforwarded(connection const& c) {
        if (c.executing.empty()) return std::nullopt;
        for (auto const& [descriptor, name] : {std::pair(1, "stdout"), std::pair(2, "stderr")}) {
            auto text = detail::as_utf8(c.process.take_unforwarded(descriptor));
            if (text.empty()) continue;
            jupyter::message last(jupyter::message::channel::iopub, "stream", {{"name", name}});
            last.parent_id = c.executing;
            last.size = text.size();
            last.content["text"] = std::move(text);
            return last;
        }
        return std::nullopt;
    }

    /// Long JSON is read aside.
    static asio::awaitable<result<jupyter::message>> read(std::shared_ptr<connection> c, unread_message whole) {
        if (whole.json_size() < detail::long_text) co_return read_message(std::move(whole));
        auto const owned = std::make_shared<unread_message>(std::move(whole));
        auto const work = [owned] { return read_message(std::move(*owned)); };
        co_return co_await detail::aside(c->aside, work);
    }

    /// Writes a message, whole, behind the ones that are being written.
    static asio::awaitable<result<void>> send(std::shared_ptr<connection> c, std::string bytes) {
        asio::error_code broken;
        while (c->writing) co_await c->written.async_wait(asio::redirect_error(asio::use_awaitable, broken));
        c->writing = true;
        co_await asio::async_write(c->socket, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, broken));
        c->writing = false;
        c->written.cancel();
        if (broken) co_return failure(co_await death(c->process));
        co_return result<void>();
    }

    /// How the kernel ended. It has: the supervisor reaps it within milliseconds, but after all that it left behind,
    /// which takes seconds where hundreds of processes end on a busy machine.
    static asio::awaitable<error> death(kernel_host::process kernel) {
        auto const status = co_await kernel.exited(std::chrono::seconds(5));
        auto const known = status.value_or(exit_status());
        bool const with_supervisor = status && known == exit_status(); // which alone knows how a kernel ended
        auto how = with_supervisor ? " with its supervisor, which has ended" : ": " + to_string(known);
        if (known.signal == SIGXCPU) how += ", it has used the processor time that its limits give (`cpu-time`)";
        if (known.exceeded) how += ", " + to_string(*known.exceeded);
        co_return error(errc::kernel_died, "the kernel died" + how).with_status(known);
    }

    socket_type socket;
    stream_frame_reader reader;
    kernel_host::process process;
    std::string executing; ///< id of the latest execution
    bool at_end = false;
    bool writing = false;
    asio::steady_timer written; ///< cancelled when a write has ended
    os::unforked socket_unforked;
    detail::side_threads aside;
};

/// The means by which `stop` ends a start. Apart from the header: `<stop_token>` is long.
struct socketpair_transport::start_attempt {
    std::stop_source stop;
};

IPYBOX_DECL asio::awaitable<result<kernel_host::info>> socketpair_transport::start(std::shared_ptr<kernel_host> host,
                                                                                   kernel_host::launch launch) {
    auto const executor = co_await asio::this_coro::executor;
    starting_ = std::make_shared<start_attempt>();
    auto const stop = launch.stop = starting_->stop.get_token();
    auto obtained = co_await host->obtain();
    if (!obtained) co_return failure(obtained);
    if (stop.stop_requested()) co_return failure(errc::not_running);
    auto const owner = std::move(*obtained);
    auto const deadline = std::chrono::steady_clock::now() + clamped(launch.start_bound);
    auto pair = os::make_stream_pair(4 << 20);
    if (!pair) co_return failure(pair);
    auto const c = std::make_shared<connection>(executor, std::move(pair->ours));

    auto process = co_await owner->fork(launch, std::move(pair->theirs));
    if (!process) co_return failure(process);
    if (stop.stop_requested()) co_return failure(errc::not_running);
    c->process = std::move(*process);
    connection_ = c;

    // A descendant may hold the socket open past the kernel's death: then this, not end of file, is how the end is
    // seen.
    c->process.on_exit(executor, [weak = std::weak_ptr<connection>(c)](exit_status) {
        asio::error_code ignored;
        if (auto const alive = weak.lock()) alive->socket.shutdown(connection::socket_type::shutdown_both, ignored);
    });

    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    auto first = co_await detail::with_timeout(connection::receive(c), left);
    if (stop.stop_requested()) co_return failure(errc::not_running);
    if (!first) co_return failure(errc::kernel_unresponsive, "the kernel gave no sign of life within its bound");
    if (!*first) {
        auto text = "the kernel ended while it started: " + first->error().text();
        if (auto const said = owner->diagnostics(); !said.empty()) text += "; it said:\n" + said;
        co_return failure(error(errc::kernel_start_failed, std::move(text)).with_status(first->error().status()));
    }
    auto about = co_await owner->ready(left, stop);
    if (!about) co_return failure(about);
    kernel_host::info info;
    info.implementation = "ipykernel";
    info.implementation_version = about->ipykernel;
    info.language = "python";
    info.language_version = about->python;
    co_return info;
}

namespace detail {

/// The bytes of the strings that an object has as members: its JSON is longer.
inline std::size_t size_of_texts(nlohmann::json const& object) {
    std::size_t size = 0;
    for (auto const& member : object)
        if (member.is_string()) size += member.get_ref<std::string const&>().size();
    return size;
}

} // namespace detail

IPYBOX_DECL asio::awaitable<result<void>> socketpair_transport::send(jupyter::message m) {
    auto const c = connection_;
    if (!c) co_return failure(errc::not_running);
    if (m.id.empty()) m.id = jupyter::message::new_id();
    // Escaping a text that is too long in any case takes seconds.
    auto const too_large = [](std::size_t size) {
        return failure(errc::message_too_large, "a message to the kernel has " + std::to_string(size) +
                                                    " bytes as JSON, more than 256 MiB: pass data in a file");
    };
    if (auto const least = detail::size_of_texts(m.content); least > largest_message_to_kernel)
        co_return too_large(least);
    auto bytes = to_stream_frame(m);
    if (bytes.size() > largest_message_to_kernel) co_return too_large(bytes.size());
    if (m.type == "execute_request") c->executing = m.id;
    co_return co_await connection::send(c, std::move(bytes));
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> socketpair_transport::receive() {
    auto const c = connection_;
    if (!c) co_return failure(errc::not_running);
    co_return co_await connection::receive(c);
}

IPYBOX_DECL asio::awaitable<result<void>> socketpair_transport::interrupt() {
    auto const c = connection_;
    if (!c) co_return failure(errc::not_running);
    // The signal may come before the kernel has read what it is meant for; announced, it is not lost.
    jupyter::message announcement(jupyter::message::channel::control, "interrupt_request", {{"msg_id", c->executing}});
    auto announced = co_await connection::send(c, to_stream_frame(announcement));
    if (!announced) co_return announced;
    co_return co_await c->process.signal(SIGINT);
}

IPYBOX_DECL asio::awaitable<result<void>> socketpair_transport::ask_to_end() {
    auto const c = connection_;
    if (!c) co_return failure(errc::not_running);
    jupyter::message request(jupyter::message::channel::control, "shutdown_request", {{"restart", false}});
    co_return co_await connection::send(c, to_stream_frame(request));
}

IPYBOX_DECL kernel_host::process socketpair_transport::kernel() const {
    return connection_ ? connection_->process : kernel_host::process();
}

IPYBOX_DECL asio::awaitable<void> socketpair_transport::stop() {
    if (starting_) starting_->stop.request_stop();
    auto const c = std::exchange(connection_, nullptr);
    if (!c) co_return;
    if (c->process) {
        (void)co_await c->process.signal(SIGKILL);
        (void)co_await c->process.exited(std::chrono::seconds(2));
    }
    asio::error_code ignored;
    c->socket_unforked = os::unforked();
    c->socket.close(ignored);
}

} // namespace ipybox
