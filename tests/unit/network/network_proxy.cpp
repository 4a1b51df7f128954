#include <ipybox/network/network_proxy.hpp>

#include <support/catch.hpp>
#include <support/loopback_server.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace ipybox;
using namespace ipybox::detail;
using namespace ipybox::test;
using namespace std::chrono_literals;
using namespace std::string_literals;
using asio::ip::tcp;

constexpr auto patience = 60s;

/// Decides as it was told, and keeps what it was asked and told.
class scripted_gate final : public network_gate {
  public:
    enum class answer { accept, reject, never };

    explicit scripted_gate(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    asio::awaitable<detail::verdict> approve_connection(approval_subject& subject) override {
        note([&] { asked.push_back(subject.host + ":" + std::to_string(subject.port) + " " + subject.protocol); });
        if (says == answer::never) {
            asio::steady_timer never(executor_, asio::steady_timer::time_point::max());
            asio::error_code cancelled;
            co_await never.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
            note([&] { taken_back = true; });
            co_return detail::verdict{decision::reject("taken back"), error::decider::cancellation};
        }
        co_return detail::verdict{says == answer::accept ? decision::accept() : decision::reject("not this one")};
    }
    detail::verdict settle_connection(approval_subject& subject, detail::verdict said) override {
        note([&] { settled.push_back(subject.host + (said.accepted() ? " accepted" : " rejected")); });
        return said;
    }
    void connection_ended(approval_subject const& subject, detail::action_outcome const& how) override {
        note([&] { ended.emplace_back(subject.host, how); });
    }

    template <class Condition>
    [[nodiscard]] bool wait_until(Condition holds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, holds);
    }

    std::atomic<answer> says = answer::reject;
    std::vector<std::string> asked;
    std::vector<std::string> settled;
    std::vector<std::pair<std::string, detail::action_outcome>> ended;
    bool taken_back = false;

  private:
    template <class Change>
    void note(Change change) {
        std::scoped_lock const lock(mutex_);
        change();
        changed_.notify_all();
    }

    asio::any_io_executor executor_;
    std::mutex mutex_;
    std::condition_variable changed_;
};

/// A listening socket on the loopback.
struct listening {
    os::unique_fd socket;
    std::uint16_t port = 0;

    listening() {
        asio::io_context context;
        tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
        port = acceptor.local_endpoint().port();
        socket.reset(acceptor.release());
    }
};

/// A proxy on a thread of its own, for a configuration in which *.test leads to the loopback.
class proxy {
  public:
    explicit proxy(sandbox_config::network_access config, proxy_limits limits = {})
        : gate(std::make_shared<scripted_gate>(context_.get_executor())) {
        if (!config.resolve)
            config.resolve = [this](std::string const& host) -> result<std::vector<asio::ip::address>> {
                std::scoped_lock const lock(mutex_);
                looked_up_.push_back(host);
                return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
            };
        proxy_ = std::make_shared<network_proxy>(
            context_.get_executor(), std::move(listening_.socket),
            std::make_shared<sandbox_config::network_access const>(std::move(config)), gate, limits);
        asio::post(context_, [this] { proxy_->start(); });
        thread_ = std::thread([this] { context_.run(); });
    }
    ~proxy() {
        close();
        work_.reset();
        thread_.join();
    }
    void close() {
        asio::post(context_, [p = proxy_] { p->close(); });
    }

    /// A client that has said something.
    [[nodiscard]] tcp::socket client(std::string_view says) {
        tcp::socket socket(clients_);
        socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), listening_.port));
        asio::write(socket, asio::buffer(says));
        return socket;
    }
    [[nodiscard]] std::string answer_to(std::string_view says) {
        auto socket = client(says);
        return read_all(socket);
    }
    [[nodiscard]] std::vector<std::string> looked_up() {
        std::scoped_lock const lock(mutex_);
        return looked_up_;
    }

    asio::io_context context_;
    std::shared_ptr<scripted_gate> gate;

  private:
    std::mutex mutex_;
    std::vector<std::string> looked_up_;
    listening listening_;
    asio::io_context clients_;
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    std::shared_ptr<network_proxy> proxy_;
    std::thread thread_;
};

sandbox_config::network_access allowing(std::vector<std::string> const& hosts, bool others = false) {
    sandbox_config::network_access config;
    for (auto const& host : hosts)
        config.allowed_domains.push_back(sandbox_config::domain_pattern::parse(host).value());
    config.ask_for_others = others;
    config.allowed_addresses.push_back(sandbox_config::address_range::parse("127.0.0.1").value());
    return config;
}

std::string get(std::string const& host, std::uint16_t port, std::string const& headers = "") {
    return "GET http://" + host + ":" + std::to_string(port) + "/path HTTP/1.1\r\n" + headers + "\r\n";
}

std::string connect(std::string const& host, std::uint16_t port) {
    return "CONNECT " + host + ":" + std::to_string(port) + " HTTP/1.1\r\n\r\n";
}

bool is_status(std::string const& answer, std::string const& status) {
    return answer.starts_with("HTTP/1.1 " + status + " ");
}

} // namespace

TEST_CASE("network_proxy: an allowed host is requested by HTTP, and its Host header is that of the URL", "[tsan]") {
    loopback_server const web(answer_with_head);
    proxy through(allowing({"allowed.test"}));
    auto const answer = through.answer_to(get("allowed.test", web.port(), "Host: evil.test\r\n"));
    CHECK(is_status(answer, "200"));
    CHECK(answer.find("\r\nHost: allowed.test:" + std::to_string(web.port()) + "\r\n") != std::string::npos);
    CHECK(answer.find("evil.test") == std::string::npos);
    CHECK(through.looked_up() == std::vector<std::string>{"allowed.test"});
    REQUIRE(through.gate->wait_until([&] { return through.gate->ended.size() == 1; }));
    CHECK(through.gate->settled == std::vector<std::string>{"allowed.test accepted"});
    CHECK(through.gate->asked.empty());
}

TEST_CASE("network_proxy: a tunnel brings bytes both ways, with half-close, and counts them", "[tsan]") {
    loopback_server const echoing(echo);
    proxy through(allowing({"a.test"}));
    for (bool const socks : {false, true}) {
        auto const port = std::string{static_cast<char>(echoing.port() >> 8), static_cast<char>(echoing.port() & 255)};
        auto client = through.client(socks ? "\x05\x01\x00"s : connect("a.test", echoing.port()));
        if (socks) {
            std::string answer(2, 0);
            asio::read(client, asio::buffer(answer));
            CHECK(answer == "\x05\x00"s);
            asio::write(client, asio::buffer("\x05\x01\x00\x03\x06"s + "a.test" + port));
            answer.resize(10);
            asio::read(client, asio::buffer(answer));
            CHECK(answer == "\x05\x00\x00\x01\0\0\0\0\0\0"s);
        } else {
            CHECK(is_status(read_head(client), "200"));
        }
        std::string const much(3'000'000, 'x');
        std::thread writing([&] {
            asio::write(client, asio::buffer(much));
            client.shutdown(tcp::socket::shutdown_send);
        });
        auto const back = read_all(client);
        writing.join();
        CHECK(back == much);
    }
    REQUIRE(through.gate->wait_until([&] { return through.gate->ended.size() == 2; }));
    for (auto const& [host, how] : through.gate->ended) {
        CHECK(host == "a.test");
        CHECK_FALSE(how.failure);
        CHECK(how.sent == 3'000'000u);
        CHECK(how.received == 3'000'000u);
    }
}

TEST_CASE("network_proxy: hosts that are not allowed are refused, looked up by no one and dialled by no one",
          "[tsan]") {
    loopback_server const web(answer_with_head);
    auto config = allowing({"allowed.test", "*.wide.test"});
    config.denied_domains.push_back(sandbox_config::domain_pattern::parse("bad.wide.test").value());
    proxy through(std::move(config));
    for (auto const* host : {"other.test", "wide.test", "notwide.test", "bad.wide.test", "127.0.0.1", "[::1]"}) {
        INFO(host);
        CHECK(is_status(through.answer_to(get(host, web.port())), "403"));
        CHECK(is_status(through.answer_to(connect(host, web.port())), "403"));
    }
    for (auto const* host : {"0x7f.1", "127.1", "2130706433", "allowed.test%00", "allowed.test@127.0.0.1"}) {
        INFO(host);
        CHECK(is_status(through.answer_to(connect(host, web.port())), "400"));
    }
    CHECK(through.looked_up().empty());
    CHECK(web.connections == 0);
    CHECK(is_status(through.answer_to(get("a.wide.test.", web.port())), "200"));
}

TEST_CASE("network_proxy: what a name leads to is checked, and dialled as it was found", "[tsan]") {
    loopback_server const web(answer_with_head);
    auto config = allowing({"allowed.test"});
    std::atomic<int> lookups = 0;
    std::vector<std::string> addresses;
    config.resolve = [&](std::string const&) -> result<std::vector<asio::ip::address>> {
        ++lookups;
        std::vector<asio::ip::address> found;
        for (auto const& text : addresses) found.push_back(asio::ip::make_address(text));
        return found;
    };
    SECTION("of several, the ones that may not be reached are left out") {
        addresses = {"169.254.169.254", "10.0.0.1", "::1", "127.0.0.1"};
        proxy through(config);
        CHECK(is_status(through.answer_to(get("allowed.test", web.port())), "200"));
        CHECK(lookups == 1);
    }
    SECTION("none is left") {
        config.allowed_addresses.clear();
        for (auto const* each :
             {"127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fd00:ec2::254", "192.168.1.1", "fe80::1"}) {
            INFO(each);
            addresses = {each};
            proxy through(config);
            auto const answer = through.answer_to(connect("allowed.test", web.port()));
            CHECK(is_status(answer, "403"));
            CHECK(answer.find("allowed.test leads to ") != std::string::npos);
            REQUIRE(through.gate->wait_until([&] { return through.gate->ended.size() == 1; }));
            CHECK(through.gate->ended.front().second.failure == make_error_code(errc::approval_rejected));
            CHECK(through.gate->ended.front().second.why.find(" leads to ") != std::string::npos);
        }
        CHECK(web.connections == 0);
    }
    SECTION("the name is not found") {
        proxy through(config);
        CHECK(is_status(through.answer_to(connect("allowed.test", web.port())), "502"));
    }
}

TEST_CASE("network_proxy: a proxy of the network is what hosts are reached through", "[tsan]") {
    std::mutex mutex;
    std::vector<std::string> heads;
    loopback_server const parent([&](tcp::socket& socket) {
        auto const head = read_head(socket);
        {
            std::scoped_lock const lock(mutex);
            heads.push_back(head);
        }
        asio::error_code gone;
        if (head.find("refused.test") != std::string::npos)
            asio::write(socket, asio::buffer("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"s), gone);
        else if (head.starts_with("CONNECT"))
            asio::write(socket, asio::buffer("HTTP/1.1 200 OK\r\nVia: x\r\n\r\nearly "s), gone), echo(socket);
        else
            asio::write(socket, asio::buffer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"s), gone);
    });
    loopback_server const web(answer_with_head);
    auto config = allowing({"a.test", "refused.test", "direct.test", "10.1.1.1", "localhost"});
    config.parent_proxy = "http://me:pass@127.0.0.1:" + std::to_string(parent.port());
    config.parent_proxy_exceptions = {"direct.test"};
    proxy through(config);

    auto client = through.client(connect("a.test", 443));
    CHECK(is_status(read_head(client), "200"));
    asio::write(client, asio::buffer("bytes"s));
    client.shutdown(tcp::socket::shutdown_send);
    CHECK(read_all(client) == "early bytes");
    CHECK(heads.at(0) == "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n"
                         "Proxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n");
    CHECK(through.looked_up().empty());

    CHECK(through.answer_to(get("a.test", 8080, "Accept: x\r\nProxy-Authorization: Basic other\r\n")).ends_with("hi"));
    CHECK(heads.at(1) == "GET http://a.test:8080/path HTTP/1.1\r\nProxy-Authorization: Basic bWU6cGFzcw==\r\n"
                         "Host: a.test:8080\r\nAccept: x\r\nConnection: close\r\n\r\n");

    auto const refused = through.answer_to(connect("refused.test", 443));
    CHECK(refused.starts_with("HTTP/1.1 502 the proxy 127.0.0.1:" + std::to_string(parent.port()) +
                              " refuses the connection with refused.test:443: 407 Proxy Authentication Required\r\n"));

    CHECK(is_status(through.answer_to(get("direct.test", web.port())), "200"));
    CHECK(through.looked_up() == std::vector<std::string>{"direct.test"});
    CHECK(is_status(through.answer_to(get("localhost", web.port())), "200"));
    // An address is not handed to the proxy unless it may be reached from here.
    CHECK(is_status(through.answer_to(connect("10.1.1.1", 443)), "403"));
    CHECK(heads.size() == 3);
}

TEST_CASE("network_proxy: a proxy of the network that is not there, or says something else", "[tsan]") {
    loopback_server const mute([](tcp::socket& socket) { asio::write(socket, asio::buffer("SSH-2.0\r\n\r\n"s)); });
    listening closed;
    closed.socket.reset();
    for (auto const port : {mute.port(), closed.port}) {
        auto config = allowing({"a.test"});
        config.parent_proxy = "http://127.0.0.1:" + std::to_string(port);
        proxy through(config);
        auto const answer = through.answer_to(connect("a.test", 443));
        CHECK(answer.starts_with("HTTP/1.1 502 the proxy 127.0.0.1:" + std::to_string(port)));
    }
}

TEST_CASE("network_proxy: an exception of the application's own lookup is no more than a host that is not found") {
    auto config = allowing({"allowed.test"});
    config.resolve = [](std::string const&) -> result<std::vector<asio::ip::address>> { throw std::string("oops"); };
    proxy through(config);
    CHECK(is_status(through.answer_to(connect("allowed.test", 443)), "502"));
}

TEST_CASE("network_proxy: a server that cannot be reached is told as such", "[tsan]") {
    listening closed;
    closed.socket.reset();
    proxy through(allowing({"allowed.test"}));
    auto const answer = through.answer_to(connect("allowed.test", closed.port));
    CHECK(is_status(answer, "502"));
    CHECK(answer.find("cannot be reached: Connection refused") != std::string::npos);
}

TEST_CASE("network_proxy: a host of no list is asked for, and a pending question holds its connection alone",
          "[tsan]") {
    loopback_server const web(answer_with_head);
    proxy through(allowing({"allowed.test"}, true));
    through.gate->says = scripted_gate::answer::accept;
    CHECK(is_status(through.answer_to(get("asked.test", web.port())), "200"));
    CHECK(through.gate->asked.front() == "asked.test:" + std::to_string(web.port()) + " http");
    through.gate->says = scripted_gate::answer::reject;
    auto const refused = through.answer_to(connect("asked.test", web.port()));
    CHECK(is_status(refused, "403"));
    CHECK(refused.find("is rejected: not this one") != std::string::npos);

    through.gate->says = scripted_gate::answer::never;
    auto waiting = through.client(connect("asked.test", web.port()));
    REQUIRE(through.gate->wait_until([&] { return through.gate->asked.size() == 3; }));
    CHECK(is_status(through.answer_to(get("allowed.test", web.port())), "200"));
    SECTION("the client goes") { waiting.close(); }
    SECTION("the proxy is closed") { through.close(); }
    CHECK(through.gate->wait_until([&] { return through.gate->taken_back; }));
}

TEST_CASE("network_proxy: an empty configuration reaches nothing") {
    loopback_server const web(answer_with_head);
    sandbox_config::network_access config;
    config.allowed_addresses.push_back(sandbox_config::address_range::parse("127.0.0.1").value());
    proxy through(std::move(config));
    CHECK(is_status(through.answer_to(get("allowed.test", web.port())), "403"));
    CHECK(through.gate->asked.empty());
}

TEST_CASE("network_proxy: a client that says nothing, and one that is silent in its tunnel, are ended", "[tsan]") {
    loopback_server const echoing(echo);
    proxy through(allowing({"a.test"}), {.head = 200ms, .idle = 300ms});
    CHECK(through.answer_to("GET http://a.t").empty());
    auto silent = through.client(connect("a.test", echoing.port()));
    CHECK(is_status(read_head(silent), "200"));
    CHECK(read_all(silent).empty());
    CHECK(through.gate->wait_until([&] { return through.gate->ended.size() == 1; }));
}

TEST_CASE("network_proxy: a server that does not answer is given up", "[tsan]") {
    // Its queue is full: the system answers no further connection.
    listening busy;
    REQUIRE(::listen(busy.socket.get(), 0) == 0);
    tcp::endpoint const address(asio::ip::address_v4::loopback(), busy.port);
    std::vector<os::unique_fd> filling;
    for (int i = 0; i < 4; ++i) {
        filling.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        (void)::connect(filling.back().get(), address.data(), static_cast<socklen_t>(address.size()));
    }
    proxy through(allowing({"a.test"}), {.dial = 300ms});
    CHECK(is_status(through.answer_to(connect("a.test", busy.port)), "504"));
}

TEST_CASE("network_proxy: a client that has sent more than its head reads its refusal", "[tsan]") {
    proxy through(allowing({"a.test"}));
    auto const post = "POST http://other.test/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + std::string(200'000, 'x');
    for (int i = 0; i < 20; ++i) CHECK(is_status(through.answer_to(post), "403"));
}

TEST_CASE("network_proxy: so many connections at one time, and the next when one has ended", "[tsan]") {
    loopback_server const echoing(echo);
    proxy through(allowing({"a.test"}), {.connections = 2});
    auto first = through.client(connect("a.test", echoing.port()));
    auto second = through.client(connect("a.test", echoing.port()));
    CHECK(is_status(read_head(first), "200"));
    CHECK(is_status(read_head(second), "200"));
    auto third = through.client(connect("a.test", echoing.port()));
    auto answer = std::async(std::launch::async, [&] { return read_head(third); });
    CHECK(answer.wait_for(200ms) == std::future_status::timeout);
    first.close();
    CHECK(is_status(answer.get(), "200"));
}
