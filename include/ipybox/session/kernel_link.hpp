#pragma once

#include <ipybox/transport/transport.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace ipybox::detail {

/// A transport with its type erased: the session is compiled once for all of them.
class kernel_link {
  public:
    kernel_link() = default;
    kernel_link(kernel_link const&) = delete;
    kernel_link& operator=(kernel_link const&) = delete;
    virtual ~kernel_link() = default;

    virtual asio::awaitable<result<kernel_info>> start(std::shared_ptr<kernel_host> host, kernel_launch launch) = 0;
    virtual asio::awaitable<result<void>> send(jupyter::message m) = 0;
    virtual asio::awaitable<result<jupyter::message>> receive() = 0;
    virtual asio::awaitable<result<void>> interrupt() = 0;
    virtual asio::awaitable<result<void>> ask_to_end() = 0;
    virtual asio::awaitable<void> stop() = 0;
    [[nodiscard]] virtual supervised_process kernel() const = 0;
    [[nodiscard]] virtual completion_rule completes_with() const noexcept = 0;
    [[nodiscard]] virtual supervisor_options::role duty() const noexcept = 0;
};

template <transport Transport>
class transport_link final : public kernel_link {
  public:
    explicit transport_link(Transport t) : transport_(std::move(t)) {}

    asio::awaitable<result<kernel_info>> start(std::shared_ptr<kernel_host> host, kernel_launch launch) override {
        return transport_traits<Transport>::start(transport_, std::move(host), std::move(launch));
    }
    asio::awaitable<result<void>> send(jupyter::message m) override {
        return transport_traits<Transport>::send(transport_, std::move(m));
    }
    asio::awaitable<result<jupyter::message>> receive() override {
        return transport_traits<Transport>::receive(transport_);
    }
    asio::awaitable<result<void>> interrupt() override { return transport_traits<Transport>::interrupt(transport_); }
    asio::awaitable<result<void>> ask_to_end() override {
        if constexpr (requires(Transport& t) { transport_traits<Transport>::ask_to_end(t); })
            return transport_traits<Transport>::ask_to_end(transport_);
        else
            return refused();
    }
    asio::awaitable<void> stop() override { return transport_traits<Transport>::stop(transport_); }
    /// Of the transports that have a forked kernel; actions need one.
    [[nodiscard]] supervised_process kernel() const override {
        if constexpr (requires(Transport const& t) {
                          { t.kernel() } -> std::same_as<supervised_process>;
                      })
            return transport_.kernel();
        else
            return {};
    }
    [[nodiscard]] completion_rule completes_with() const noexcept override {
        return transport_traits<Transport>::completes_with();
    }
    [[nodiscard]] supervisor_options::role duty() const noexcept override {
        return transport_traits<Transport>::duty();
    }

  private:
    static asio::awaitable<result<void>> refused() {
        co_return failure(errc::not_running, "kernels of this transport are killed");
    }

    Transport transport_;
};

} // namespace ipybox::detail
