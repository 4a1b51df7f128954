#pragma once

#include <ipybox/async/spawn.hpp>
#include <ipybox/core/text_tail.hpp>
#include <ipybox/os/pipe.hpp>
#include <ipybox/packages/package_output.hpp>

#include <asio/buffer.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>

namespace ipybox::detail {

inline constexpr std::size_t largest_package_output = std::size_t(1) << 20;

IPYBOX_DECL result<std::shared_ptr<package_output>> package_output::make(asio::any_io_executor const& executor) {
    auto ends = os::make_pipe();
    if (!ends) return failure(ends);
    auto made = std::make_shared<package_output>(executor, std::move(ends->reader), std::move(ends->writer));
    auto const over = [made](std::exception_ptr) {
        made->ended_ = true;
        made->read_all_.cancel();
    };
    spawn(executor, read(made), over);
    return made;
}

IPYBOX_DECL package_output::package_output(asio::any_io_executor const& executor, os::unique_fd read_end,
                                           os::unique_fd write_end)
    : read_end_(executor, read_end.release()), unforked_(read_end_.native_handle()), write_end_(std::move(write_end)),
      read_all_(executor, asio::steady_timer::time_point::max()) {}

IPYBOX_DECL asio::awaitable<void> package_output::read(std::shared_ptr<package_output> self) {
    std::array<char, 16384> piece;
    asio::error_code end;
    while (!end) {
        auto const count = co_await self->read_end_.async_read_some(asio::buffer(piece),
                                                                    asio::redirect_error(asio::use_awaitable, end));
        append_tail(self->text_, {piece.data(), count}, largest_package_output);
    }
}

IPYBOX_DECL asio::awaitable<std::string> package_output::text() {
    auto const self = shared_from_this();
    while (!ended_) {
        asio::error_code woken;
        co_await read_all_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    }
    co_return std::move(text_);
}

} // namespace ipybox::detail
