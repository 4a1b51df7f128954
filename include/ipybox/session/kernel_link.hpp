#pragma once

#include <ipybox/transport/transport.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace ipybox::detail {

/// The constants of a transport's traits, for code that does not know its type.
struct transport_facts {
    bool forks_kernels = false;
    bool orders_messages = false;
    bool carries_actions = false;
    bool can_be_guarded = false;
};

template <class Transport>
inline constexpr transport_facts facts_of{
    transport_traits<Transport>::forks_kernels, transport_traits<Transport>::orders_messages,
    transport_traits<Transport>::carries_actions, transport_traits<Transport>::can_be_guarded};

/// A transport with its type erased: the session is compiled once for all of them.
class kernel_link {
  public:
    explicit kernel_link(transport_facts facts) : facts_(facts) {}
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

    [[nodiscard]] transport_facts const& facts() const noexcept { return facts_; }

  private:
    transport_facts const facts_;
};

template <transport Transport>
class transport_link final : public kernel_link {
  public:
    /// The executor only looks at the transport; the link is its owner.
    explicit transport_link(std::shared_ptr<Transport> t)
        : kernel_link(facts_of<Transport>), transport_(std::move(t)) {}

    asio::awaitable<result<kernel_info>> start(std::shared_ptr<kernel_host> host, kernel_launch launch) override {
        return transport_traits<Transport>::start(*transport_, std::move(host), std::move(launch));
    }
    asio::awaitable<result<void>> send(jupyter::message m) override {
        return transport_traits<Transport>::send(*transport_, std::move(m));
    }
    asio::awaitable<result<jupyter::message>> receive() override {
        return transport_traits<Transport>::receive(*transport_);
    }
    asio::awaitable<result<void>> interrupt() override { return transport_traits<Transport>::interrupt(*transport_); }
    asio::awaitable<result<void>> ask_to_end() override {
        if constexpr (requires(Transport& t) {
                          { transport_traits<Transport>::ask_to_end(t) } -> std::same_as<asio::awaitable<result<void>>>;
                      })
            return transport_traits<Transport>::ask_to_end(*transport_);
        else
            return refused();
    }
    asio::awaitable<void> stop() override { return transport_traits<Transport>::stop(*transport_); }
    [[nodiscard]] supervised_process kernel() const override {
        if constexpr (transport_traits<Transport>::carries_actions)
            return transport_traits<Transport>::kernel(*transport_);
        else
            return {};
    }

  private:
    static asio::awaitable<result<void>> refused() {
        co_return failure(errc::not_running, "kernels of this transport are killed");
    }

    std::shared_ptr<Transport> transport_;
};

} // namespace ipybox::detail
