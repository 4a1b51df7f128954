#pragma once

#include <ipybox/kernel/kernel_host.hpp>
#include <ipybox/transport/impl/zmq_kernel.hpp>
#include <ipybox/transport/zmq_transport.hpp>

#include <asio/this_coro.hpp>

#include <utility>

namespace ipybox {

IPYBOX_DECL zmq_transport::zmq_transport(options chosen) : options_(std::move(chosen)) {}

IPYBOX_DECL zmq_transport::zmq_transport() : zmq_transport(options()) {}
IPYBOX_DECL zmq_transport::zmq_transport(zmq_transport&&) noexcept = default;
IPYBOX_DECL zmq_transport& zmq_transport::operator=(zmq_transport&&) noexcept = default;
IPYBOX_DECL zmq_transport::~zmq_transport() = default;

IPYBOX_DECL asio::awaitable<result<kernel_host::info>> zmq_transport::start(std::shared_ptr<kernel_host> host,
                                                                            kernel_host::launch launch) {
    co_await stop();
    auto const executor = co_await asio::this_coro::executor;
    auto const kernel = std::make_shared<detail::zmq_kernel>(executor, options_);
    kernel_ = kernel;
    result<kernel_host::info> info;
    if (!options_.connection_file.empty()) {
        info = co_await kernel->attach(launch.start_bound);
    } else if (auto obtained = co_await host->obtain()) {
        if (kernel_ != kernel) co_return failure(errc::not_running, "the transport has been stopped");
        info = co_await kernel->start(std::move(*obtained), std::move(launch));
    } else {
        info = failure(obtained);
    }
    if (!info) {
        co_await kernel->stop();
        if (kernel_ == kernel) kernel_.reset();
    }
    co_return info;
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_transport::send(jupyter::message m) {
    if (!kernel_ || !kernel_->link()) co_return failure(errc::not_running, "the transport has not been started");
    auto const kernel = kernel_;
    co_return co_await kernel->send(std::move(m));
}

IPYBOX_DECL asio::awaitable<result<jupyter::message>> zmq_transport::receive() {
    if (!kernel_ || !kernel_->link()) co_return failure(errc::not_running, "the transport has not been started");
    auto const kernel = kernel_;
    co_return co_await kernel->receive();
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_transport::interrupt() {
    if (!kernel_ || !kernel_->link()) co_return failure(errc::not_running, "the transport has not been started");
    auto const kernel = kernel_;
    co_return co_await kernel->interrupt();
}

IPYBOX_DECL asio::awaitable<result<void>> zmq_transport::ask_to_end() {
    if (!kernel_ || !kernel_->link()) co_return failure(errc::not_running, "the transport has not been started");
    co_return kernel_->ask_to_end();
}

IPYBOX_DECL asio::awaitable<void> zmq_transport::stop() {
    if (auto const kernel = std::exchange(kernel_, nullptr)) co_await kernel->stop();
}

} // namespace ipybox
