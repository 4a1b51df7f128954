#pragma once

#include <ipybox/jupyter/kernelspec.hpp>
#include <ipybox/kernel/kernel_options.hpp>
#include <ipybox/kernel/supervisor.hpp>
#include <ipybox/transport/impl/zmq_link.hpp>
#include <ipybox/transport/zmq_transport.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace ipybox::detail {

/// The things that one `start` has made, and must undo.
class zmq_kernel : public std::enable_shared_from_this<zmq_kernel> {
  public:
    using clock = zmq_link::clock;
    using message = jupyter::message;
    using channel = jupyter::message::channel;

    zmq_kernel(asio::any_io_executor executor, zmq_transport::options const& options)
        : executor_(std::move(executor)), options_(options) {}
    zmq_kernel(zmq_kernel const&) = delete;
    zmq_kernel& operator=(zmq_kernel const&) = delete;
    ~zmq_kernel();

    asio::awaitable<result<kernel_info>> start(std::shared_ptr<supervisor> host, kernel_launch launch);
    asio::awaitable<result<kernel_info>> attach(std::chrono::milliseconds bound);
    asio::awaitable<result<void>> send(message m);
    asio::awaitable<result<message>> receive();
    asio::awaitable<result<void>> interrupt();
    [[nodiscard]] result<void> ask_to_end();
    asio::awaitable<void> stop();

    /// None before the kernel was reached.
    [[nodiscard]] std::shared_ptr<zmq_link> const& link() const noexcept { return link_; }

  private:
    asio::awaitable<result<kernel_info>> start_once(supervisor& host, kernel_launch const& launch,
                                                    clock::time_point deadline);
    asio::awaitable<result<kernel_info>> greet(clock::time_point deadline);
    asio::awaitable<result<void>> set_up(bool keep_cwd, clock::time_point deadline);
    asio::awaitable<result<void>> settle(clock::time_point deadline);
    asio::awaitable<result<void>> recover();
    asio::awaitable<void> end();
    [[nodiscard]] result<void> prepare(supervisor& host);
    [[nodiscard]] error explain(error cause, supervisor const& host, kernel_launch const& launch) const;
    void remove_files() noexcept;

    asio::any_io_executor executor_;
    zmq_transport::options options_;
    jupyter::kernelspec spec_;
    jupyter::connection_info info_;
    std::filesystem::path file_; // the connection file that was written, if any
    supervised_process process_;
    std::string executing_; // id of the request to execute whose idle status has not come
    std::shared_ptr<zmq_link> link_;
    bool python_ = false;
    std::stop_source stop_;
};

} // namespace ipybox::detail

#ifdef IPYBOX_HEADER_ONLY
#include <ipybox/transport/impl/zmq_kernel.ipp>
#endif
