#include <ipybox/session/kernel_listener.hpp>

#include <support/catch.hpp>

#include <asio/io_context.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;

/// A link to a kernel that sends messages of one size, without end unless it is told.
class flooding_link final : public kernel_link {
  public:
    explicit flooding_link(std::size_t size)
        : kernel_link({.forks_kernels = true, .orders_messages = true}), size_(size) {}

    asio::awaitable<result<jupyter::message>> receive() override {
        if (received == most) co_return failure(errc::kernel_died, "the test's kernel has ended");
        jupyter::message m(jupyter::message::channel::iopub, "stream", jupyter::json::object());
        m.size = size_;
        ++received;
        co_return m;
    }

    asio::awaitable<result<kernel_info>> start(std::shared_ptr<kernel_host>, kernel_launch) override {
        co_return kernel_info();
    }
    asio::awaitable<result<void>> send(jupyter::message) override { co_return result<void>(); }
    asio::awaitable<result<void>> interrupt() override { co_return result<void>(); }
    asio::awaitable<result<void>> ask_to_end() override { co_return result<void>(); }
    asio::awaitable<void> stop() override { co_return; }
    [[nodiscard]] supervised_process kernel() const override { return {}; }

    std::size_t received = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max();

  private:
    std::size_t size_;
};

/// A listener, and the messages that it has brought and that are still worked on.
struct listening {
    explicit listening(std::size_t size) : link(std::make_shared<flooding_link>(size)) {
        auto const keep = [this](jupyter::message m) { in_hand.push_back(std::move(m)); };
        auto const ended = [this](error const&) { has_ended = true; };
        listener = std::make_shared<kernel_listener>(context.get_executor(), link, keep, ended);
        listener->begin();
    }
    ~listening() {
        listener->leave();
        in_hand.clear();
        context.restart();
        context.run();
    }

    void run() {
        context.restart();
        context.poll();
    }

    asio::io_context context;
    std::vector<jupyter::message> in_hand;
    bool has_ended = false;
    std::shared_ptr<flooding_link> link;
    std::shared_ptr<kernel_listener> listener;
};

} // namespace

TEST_CASE("kernel_listener: messages at the bound and beyond it") {
    constexpr std::size_t bound = std::size_t(4) << 20;
    for (std::size_t const held : {bound / 4, bound / 4 + 1, bound, bound + 1, std::size_t(60) << 20}) {
        listening to(held - sizeof(jupyter::message));
        to.run();
        auto const at_once = to.in_hand.size();
        CHECK(at_once == (bound + held - 1) / held);
        to.run();
        CHECK(to.link->received == at_once);
        to.in_hand.erase(to.in_hand.begin());
        to.run();
        CHECK(to.link->received == at_once + 1);
        to.in_hand.clear();
        to.run();
        CHECK(to.link->received == 2 * at_once + 1);
    }
}

TEST_CASE("kernel_listener: a small message more than the bound waits in the kernel") {
    listening to(0);
    to.run();
    auto const full = ((std::size_t(4) << 20) + sizeof(jupyter::message) - 1) / sizeof(jupyter::message);
    CHECK(to.link->received == full);
    to.in_hand.erase(to.in_hand.begin(), to.in_hand.begin() + 2);
    to.run();
    CHECK(to.link->received == full + 2);
    CHECK(to.in_hand.size() == full);
}

TEST_CASE("kernel_listener: one that waits can be left") {
    listening to(std::size_t(60) << 20);
    to.run();
    REQUIRE(to.in_hand.size() == 1);
    to.listener->leave();
    to.run();
    CHECK(to.link->received == 1);
    CHECK_FALSE(to.has_ended);
}

TEST_CASE("kernel_listener: what an ended kernel had sent is dropped, however much waits") {
    listening to(std::size_t(60) << 20);
    to.run();
    REQUIRE(to.in_hand.size() == 1);
    to.link->most = 3;
    to.listener->drop_rest();
    to.run();
    CHECK(to.link->received == 3);
    CHECK(to.in_hand.size() == 1);
    CHECK(to.has_ended);
}
