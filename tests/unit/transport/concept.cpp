#include <ipybox/transport/transport.hpp>

#include <asio/experimental/channel.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <memory>
#include <utility>

#include "support/catch.hpp"
#include "support/transport_driver.hpp"

namespace {

//! [exemplar]
/// A kernel that answers every cell with its own code.
class echo_transport {
  public:
    static constexpr bool forks_kernels = false;
    static constexpr bool orders_messages = true;

    asio::awaitable<ipybox::result<ipybox::kernel_info>> start(std::shared_ptr<ipybox::kernel_host>,
                                                               ipybox::kernel_launch) {
        auto const executor = co_await asio::this_coro::executor;
        answers_ = std::make_unique<queue>(executor, 16);
        ipybox::kernel_info info;
        info.implementation = "echo";
        co_return info;
    }

    asio::awaitable<ipybox::result<void>> send(ipybox::jupyter::message m) {
        if (!answers_) co_return ipybox::failure(ipybox::errc::not_running);
        ipybox::jupyter::message output(ipybox::jupyter::message::channel::iopub, "stream",
                                        {{"name", "stdout"}, {"text", m.content["code"]}});
        ipybox::jupyter::message reply(ipybox::jupyter::message::channel::shell, "execute_reply", {{"status", "ok"}});
        output.parent_id = reply.parent_id = m.id;
        answers_->try_send(asio::error_code(), std::move(output));
        answers_->try_send(asio::error_code(), std::move(reply));
        co_return ipybox::result<void>();
    }

    asio::awaitable<ipybox::result<ipybox::jupyter::message>> receive() {
        if (!answers_) co_return ipybox::failure(ipybox::errc::not_running);
        asio::error_code closed;
        auto m = co_await answers_->async_receive(asio::redirect_error(asio::use_awaitable, closed));
        if (closed) co_return ipybox::failure(ipybox::errc::not_running);
        co_return m;
    }

    asio::awaitable<ipybox::result<void>> interrupt() { co_return ipybox::result<void>(); }

    asio::awaitable<void> stop() {
        if (answers_) answers_->close();
        co_return;
    }

  private:
    using queue = asio::experimental::channel<void(asio::error_code, ipybox::jupyter::message)>;
    std::unique_ptr<queue> answers_;
};
static_assert(ipybox::transport<echo_transport>);
//! [exemplar]

// --- what is no transport

struct nothing {};
static_assert(!ipybox::transport<nothing>);

struct no_rule : echo_transport {
  private:
    using echo_transport::orders_messages;
};
static_assert(!ipybox::transport<no_rule>);

struct plain_send : echo_transport {
    ipybox::result<void> send(ipybox::jupyter::message);
};
static_assert(!ipybox::transport<plain_send>);

struct bytes : echo_transport {
    asio::awaitable<ipybox::result<std::string>> receive();
};
static_assert(!ipybox::transport<bytes>);

struct pinned : echo_transport {
    pinned() = default;
    pinned(pinned&&) = delete;
};
static_assert(!ipybox::transport<pinned>);

// --- a type of somebody else

struct foreign {};

} // namespace

template <>
struct ipybox::transport_traits<foreign> {
    static asio::awaitable<result<kernel_info>> start(foreign&, std::shared_ptr<kernel_host>, kernel_launch);
    static asio::awaitable<result<void>> send(foreign&, jupyter::message);
    static asio::awaitable<result<jupyter::message>> receive(foreign&);
    static asio::awaitable<result<void>> interrupt(foreign&);
    static asio::awaitable<void> stop(foreign&);
    static constexpr bool forks_kernels = true;
    static constexpr bool orders_messages = true;
    static constexpr bool carries_actions = false;
    static constexpr bool can_be_guarded = false;
};
static_assert(ipybox::transport<foreign>);

// --- the constants

using echo_traits = ipybox::transport_traits<echo_transport>;
static_assert(!echo_traits::forks_kernels && echo_traits::orders_messages);
static_assert(!echo_traits::carries_actions && !echo_traits::can_be_guarded);

/// A kernel to run programs for means actions, and these mean that it can be guarded, unless the type says otherwise.
struct forking : echo_transport {
    static constexpr bool forks_kernels = true;
    [[nodiscard]] ipybox::supervised_process kernel() const { return {}; }
};
static_assert(ipybox::transport<forking>);
static_assert(ipybox::transport_traits<forking>::carries_actions);
static_assert(ipybox::transport_traits<forking>::can_be_guarded);

struct unguarded : forking {
    static constexpr bool can_be_guarded = false;
};
static_assert(ipybox::transport<unguarded>);
static_assert(ipybox::transport_traits<unguarded>::carries_actions);
static_assert(!ipybox::transport_traits<unguarded>::can_be_guarded);

struct silent : forking {
    static constexpr bool carries_actions = false;
};
static_assert(ipybox::transport<silent>);
static_assert(!ipybox::transport_traits<silent>::can_be_guarded);

// --- constants that contradict each other

/// Programs are run for a forked kernel.
struct spawning : echo_transport {
    [[nodiscard]] ipybox::supervised_process kernel() const { return {}; }
};
static_assert(!ipybox::transport<spawning>);

struct without_kernel : echo_transport {
    static constexpr bool forks_kernels = true;
    static constexpr bool carries_actions = true;
};
static_assert(!ipybox::transport<without_kernel>);

/// A guarded kernel starts programs by asking.
struct walled_in : silent {
    static constexpr bool can_be_guarded = true;
};
static_assert(!ipybox::transport<walled_in>);

TEST_CASE("transport: the exemplar of the concept's page") {
    ipybox::test::transport_driver<echo_transport> driver(echo_transport(), {});
    CHECK(driver.receive().error() == ipybox::errc::not_running);
    auto const info = driver.start({});
    REQUIRE(info);
    CHECK(info->implementation == "echo");
    auto const cell = driver.execute("print('x')");
    CHECK(cell.out == "print('x')");
    CHECK(cell.status == "ok");
    driver.stop();
    CHECK(driver.receive().error() == ipybox::errc::not_running);
}
