#pragma once

#include <ipybox/action/action_channel.hpp>
#include <ipybox/os/datagram.hpp>

#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <array>
#include <string_view>
#include <utility>

namespace ipybox::detail {

inline error end_of_actions() { return error(errc::kernel_died, "the kernel closed its action channel"); }

IPYBOX_DECL action_channel::action_channel(asio::any_io_executor executor, os::unique_fd socket)
    : socket_(executor), written_(executor, asio::steady_timer::time_point::max()) {
    socket_unforked_ = os::unforked(socket.get());
    socket_.assign(asio::local::stream_protocol(), socket.release());
    socket_.non_blocking(true);
}

IPYBOX_DECL asio::awaitable<result<action_frame>> action_channel::receive() {
    for (;;) {
        auto frame = reader_.next();
        if (!frame) co_return failure(frame);
        if (*frame) co_return std::move(**frame);
        auto const room = reader_.prepare();
        auto const buffer = asio::buffer(room.data(), room.size());
        asio::error_code end;
        auto const count = co_await socket_.async_read_some(buffer, asio::redirect_error(asio::use_awaitable, end));
        if (end) co_return failure(end_of_actions());
        reader_.commit(count);
    }
}

IPYBOX_DECL asio::awaitable<result<void>> action_channel::send(action_frame frame,
                                                               std::vector<os::unique_fd> descriptors) {
    asio::error_code broken;
    while (writing_) co_await written_.async_wait(asio::redirect_error(asio::use_awaitable, broken));
    broken.clear();
    writing_ = true;
    auto const bytes = bytes_before_body(frame);
    std::size_t begin = 0;
    if (!descriptors.empty()) {
        broken = co_await send_first_byte(bytes.front(), descriptors);
        begin = 1;
    }
    std::array<asio::const_buffer, 2> const rest{asio::buffer(bytes.data() + begin, bytes.size() - begin),
                                                 asio::buffer(frame.body)};
    if (!broken) co_await asio::async_write(socket_, rest, asio::redirect_error(asio::use_awaitable, broken));
    writing_ = false;
    written_.cancel_one(); // who is not needed now must not be woken: many may wait
    if (broken) co_return failure(end_of_actions());
    co_return result<void>();
}

IPYBOX_DECL asio::awaitable<bool> action_channel::is_read() {
    // After an async_wait for writing each answer that the kernel reads would wake this thread, for as long as it
    // lives.
    if (os::takes_bytes(socket_.native_handle())) co_return true;
    asio::error_code broken;
    co_await socket_.async_wait(socket_type::wait_write, asio::redirect_error(asio::use_awaitable, broken));
    co_return !broken;
}

IPYBOX_DECL asio::awaitable<asio::error_code>
action_channel::send_first_byte(char byte, std::vector<os::unique_fd> const& descriptors) {
    asio::error_code failed;
    while (!failed) {
        switch (os::send_datagram(socket_.native_handle(), std::string_view(&byte, 1), descriptors)) {
        case os::transfer::done: co_return failed;
        case os::transfer::would_block:
            co_await socket_.async_wait(socket_type::wait_write, asio::redirect_error(asio::use_awaitable, failed));
            break;
        case os::transfer::closed:
        case os::transfer::failed: failed = asio::error::broken_pipe;
        }
    }
    co_return failed;
}

IPYBOX_DECL void action_channel::close() {
    asio::error_code ignored;
    socket_unforked_ = os::unforked();
    socket_.close(ignored);
    written_.cancel();
}

} // namespace ipybox::detail
