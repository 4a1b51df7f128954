#include <ipybox/ipybox.hpp>
#include <ipybox/version.hpp>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <future>
#include <utility>
#include <variant>

// What is a template in the headers is compiled here, with the consumer's warnings. None of it is called: no kernel is
// needed.

struct count_events {
    int& events;
    void operator()(ipybox::result<ipybox::execution_result> const&) const { ++events; }
    template <class Event>
    void operator()(Event const&) const {
        ++events;
    }
};

int count(ipybox::executor_base& box) {
    int events = 0;
    auto stream = box.stream("1");
    while (auto const event = stream.next()) std::visit(count_events{events}, *event);
    return events;
}

asio::awaitable<bool> run_in_coroutine(ipybox::executor_base& box) {
    ipybox::execute_options const options{.timeout = std::chrono::seconds(1)};
    auto const with_options = co_await box.async_execute("1", options);
    auto const without = co_await box.async_start();
    co_return with_options&& without;
}

bool run_with_other_tokens(ipybox::executor_base& box) {
    box.async_reset([](ipybox::result<void> const&) {});
    std::future<ipybox::result<void>> stopped = box.async_stop(asio::use_future);
    return stopped.get().has_value();
}

void make_executors(asio::io_context& io) {
    auto const ask = [](ipybox::approval_request request) {
        request.accept_and_grant(ipybox::grant::tool("pay.*").where("amount", ipybox::grant::comparison::at_most, 100));
    };
    ipybox::executor const erased(io.get_executor(), {.kernel = {.restart_dead = true}}, ask, ipybox::no_sandbox{});
    ipybox::basic_executor const chosen({}, ipybox::callback_approval(ask), ipybox::bubblewrap_sandbox{},
                                        ipybox::zmq_transport({.kernelspec = "python3"}));
}

int main() { std::printf("ipybox %s\n", ipybox::version::text); }
