#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/has_bubblewrap.hpp>
#include <support/kernel_box.hpp>
#include <support/loopback_server.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;
using test::answer_with_head;
using test::contains;
using test::has_bubblewrap;
using test::loopback_server;
using test::text_of;

/// A configuration in which every name leads to the loopback of this machine.
sandbox_config configured(std::string_view network) {
    auto config = sandbox_config::parse("{\"network\": " + std::string(network) + "}").value();
    config.network.allowed_addresses.push_back(sandbox_config::address_range::parse("127.0.0.1").value());
    config.network.resolve = [](std::string const&) -> result<std::vector<asio::ip::address>> {
        return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
    };
    return config;
}

/// A web server outside, and an executor in bubblewrap that may reach it by name.
class world {
  public:
    explicit world(std::string_view network, any_approval approval = deny_approval{},
                   std::function<void(executor_options&)> const& adapt = {}) {
        options_ = test::options_in(dir_.path());
        if (adapt) adapt(options_);
        box = std::make_unique<executor>(options_, std::move(approval), bubblewrap_sandbox(configured(network)));
        auto const got = run("import urllib.request, urllib.error, os, socket, subprocess, time\n"
                             "def get(url):\n"
                             "    try: return urllib.request.urlopen(url, timeout=60).status\n"
                             "    except urllib.error.HTTPError as e: return e.read().decode()\n");
        REQUIRE(got == "");
    }

    std::string run(std::string const& code) { return text_of(box->execute(code)); }
    std::string get(std::string const& host) { return run("print(get(" + url(host) + "))"); }
    [[nodiscard]] std::string url(std::string const& host) const { return "'http://" + host + ":" + port() + "/x'"; }
    [[nodiscard]] std::string port() const { return std::to_string(web.port()); }

    /// Makes a file in the working directory.
    void write(std::string const& name) const { std::ofstream(options_.working_dir / name) << "x"; }

    loopback_server web{answer_with_head};
    std::unique_ptr<executor> box;

  private:
    test::scratch_dir dir_;
    executor_options options_;
};

/// Decides about connections in a function, and keeps what it was asked.
struct asked_policy {
    struct state {
        std::mutex mutex;
        std::vector<std::string> asked;
        std::function<void(approval_request)> answer;
    };
    std::shared_ptr<state> shared = std::make_shared<state>();

    [[nodiscard]] any_approval policy() const {
        return any_approval([s = shared](approval_request request) {
            {
                std::scoped_lock const lock(s->mutex);
                s->asked.push_back(safe_text::of(*request.subject()).text());
            }
            s->answer(std::move(request));
        });
    }
    [[nodiscard]] std::vector<std::string> asked() const {
        std::scoped_lock const lock(shared->mutex);
        return shared->asked;
    }
};

} // namespace

TEST_CASE("network: code reaches the hosts that are allowed, and no other", "[kernel]") {
    if (!has_bubblewrap()) return;
    world w(R"({"allowedDomains": ["allowed.test", "*.wide.test"], "deniedDomains": ["bad.wide.test"],
                "strictAllowlist": true})");
    CHECK(w.get("allowed.test") == "200");
    CHECK(w.get("a.wide.test") == "200");
    for (auto const* host : {"other.test", "wide.test", "bad.wide.test", "127.0.0.2"}) {
        INFO(host);
        CHECK(contains(w.get(host), "is rejected: the sandbox's configuration"));
    }
    CHECK(contains(w.get("0x7f.1"), "names no host that can be compared"));
    CHECK(contains(w.run("print(get('http://allowed.test:1/x'))"), "cannot be reached"));
    CHECK(w.web.connections == 2);
}

TEST_CASE("network: curl, requests, pip and SOCKS5 in commands and kernel", "[kernel]") {
    if (!has_bubblewrap()) return;
    world w(R"({"allowedDomains": ["allowed.test"], "strictAllowlist": true})", auto_approval{});
    auto const in_shell = [&](std::string const& options, std::string const& host) {
        return w.run("!curl -sS --max-time 60 -o /dev/null -w '%{http_code}' " + options + " " + w.url(host));
    };
    CHECK(in_shell("", "allowed.test") == "200");
    CHECK(in_shell("", "other.test") == "403");
    CHECK(in_shell("--proxytunnel", "allowed.test") == "200");
    CHECK(contains(in_shell("--proxytunnel 2>&1", "other.test"), "CONNECT tunnel failed, response 403"));
    auto const socks = "--socks5-hostname ${HTTP_PROXY#http://}";
    CHECK(in_shell(socks, "allowed.test") == "200");
    CHECK(contains(in_shell(socks, "other.test"), "000"));
    CHECK(w.run("import requests; print(requests.get(" + w.url("allowed.test") + ", timeout=60).status_code)") ==
          "200");
    int const before = w.web.connections;
    CHECK(contains(w.run("!pip download --no-deps --retries 0 --timeout 60 --trusted-host allowed.test -i "
                         "http://allowed.test:" +
                         w.port() + "/simple nothing-at-all"),
                   "No matching distribution"));
    CHECK(w.web.connections > before);
}

TEST_CASE("network: variables name the proxy, and what is inside is reached directly", "[kernel]") {
    if (!has_bubblewrap()) return;
    world w(R"({"allowedDomains": ["allowed.test"]})");
    CHECK(w.run("print(len({os.environ[n] for n in ('HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', "
                "'https_proxy', 'all_proxy')}), os.environ['NO_PROXY'] == os.environ['no_proxy'])") == "1 True");
    CHECK(w.run("import http.server, threading\n"
                "s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
                "s.RequestHandlerClass.log_message = lambda *a: None\n"
                "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
                "print(get(f'http://127.0.0.1:{s.server_port}/'))") == "200");
}

TEST_CASE("network: no name is looked up inside, and nothing but the proxy is there", "[kernel]") {
    if (!has_bubblewrap()) return;
    world w(R"({"allowedDomains": ["allowed.test"]})");
    CHECK(contains(w.run("try: socket.getaddrinfo('allowed.test', 80)\nexcept OSError as e: print('no name')"),
                   "no name"));
    CHECK(contains(w.run("u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                         "try: u.sendto(b'x', ('8.8.8.8', 53))\nexcept OSError as e: print(e.strerror)"),
                   "Network is unreachable"));
    // The system may have chosen a server's port for the proxy inside as well, but not those of two servers.
    loopback_server const second(answer_with_head);
    auto const ports = "[" + w.port() + ", " + std::to_string(second.port()) + "]";
    CHECK(w.run("proxy = int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1].rstrip('/'))\n"
                "for port in set(" +
                ports +
                ") - {proxy}:\n"
                "    try: socket.create_connection(('127.0.0.1', port), timeout=20); print('connected to', port)\n"
                "    except ConnectionRefusedError: pass\n"
                "print('refused')") == "refused");
    CHECK(w.web.connections == 0);
    CHECK(second.connections == 0);
}

TEST_CASE("network: without allowed hosts there is no proxy", "[kernel]") {
    if (!has_bubblewrap()) return;
    world w(R"({"allowedDomains": []})");
    CHECK(w.run("print([n for n in os.environ if 'proxy' in n.lower()])") == "[]");
}

TEST_CASE("network: a name that leads to this machine is refused where no address is opened", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    loopback_server const web(answer_with_head);
    auto config = configured(R"({"allowedDomains": ["allowed.test", "localhost"]})");
    config.network.allowed_addresses.clear();
    executor box(test::options_in(dir.path()), deny_approval{}, bubblewrap_sandbox(config));
    for (auto const* host : {"allowed.test", "localhost."}) {
        auto const said = text_of(
            box.execute("import urllib.request, urllib.error\n"
                        "try: urllib.request.urlopen('http://" +
                        std::string(host) + ":" + std::to_string(web.port()) +
                        "/', timeout=60)\nexcept urllib.error.HTTPError as e: print(e.code, e.read().decode())"));
        CHECK(contains(said, "403 "));
        CHECK(contains(said, " leads to 127.0.0.1, an address of this machine"));
    }
    CHECK(web.connections == 0);
}

TEST_CASE("network: a host of no list is asked for, with the cell that asks, and a grant is for the session",
          "[kernel]") {
    if (!has_bubblewrap()) return;
    asked_policy asked;
    asked.shared->answer = [](approval_request request) {
        CHECK(contains(request.subject()->code, "get("));
        if (request.subject()->host == "granted.test")
            request.accept_and_grant(grant::this_host(*request.subject()));
        else
            request.reject("not that one");
    };
    world w(R"({"allowedDomains": ["allowed.test"]})", asked.policy());
    CHECK(w.get("allowed.test") == "200");
    CHECK(asked.asked().empty());
    CHECK(contains(w.get("other.test"), "is rejected: not that one"));
    CHECK(w.get("granted.test") == "200");
    CHECK(w.get("granted.test") == "200");
    CHECK(asked.asked() == std::vector<std::string>{"network connection other.test port " + w.port() + " by http",
                                                    "network connection granted.test port " + w.port() + " by http"});
    CHECK(contains(w.run("print(get(" + w.url("other.test") + "), get(" + w.url("other.test") + "))"),
                   "rejected before: not that one"));
}

TEST_CASE("network: a question holds its connection, not the kernel, and ends with the cell", "[kernel]") {
    if (!has_bubblewrap()) return;
    asked_policy asked;
    std::promise<approval_request> waiting;
    asked.shared->answer = [&](approval_request request) { waiting.set_value(std::move(request)); };
    world w(R"({"allowedDomains": ["allowed.test"]})", asked.policy());
    auto cell = std::async(std::launch::async, [&] {
        return w.run("import threading\nsaid = []\n"
                     "t = threading.Thread(target=lambda: said.append(get(" +
                     w.url("asked.test") + ")))\nt.start()\nprint(get(" + w.url("allowed.test") +
                     "))\nwhile not os.path.exists('go'): time.sleep(0.01)");
    });
    auto pending = waiting.get_future();
    REQUIRE(pending.wait_for(60s) == std::future_status::ready);
    auto const request = pending.get();
    CHECK_FALSE(request.decided());
    w.write("go");
    CHECK(cell.get() == "200");
    CHECK(contains(w.run("t.join(60); print(said[0])"), "the code that asked has ended"));
    CHECK_FALSE(request.accept());
}

TEST_CASE("network: rules decide about hosts, also about those that the configuration allows", "[kernel]") {
    if (!has_bubblewrap()) return;
    auto const with_rules = [](executor_options& o) {
        o.approval.rules = approval_rules::parse(R"({"allow": [{"kind": "network", "host": "*.by-rule.test"}],
                                            "deny": [{"kind": "network", "host": "bad.test", "reason": "a bad one"}]})")
                               .value();
    };
    world w(R"({"allowedDomains": ["allowed.test", "bad.test"]})", deny_approval{}, with_rules);
    CHECK(w.get("a.by-rule.test") == "200");
    CHECK(contains(w.get("by-rule.test"), "is rejected"));
    CHECK(contains(w.get("bad.test"), "is rejected: a bad one"));
}

TEST_CASE("network: the audit log has each connection, who decided, and its bytes", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const logs;
    auto const file = logs.path() / "audit.jsonl";
    {
        world w(R"({"allowedDomains": ["allowed.test"], "strictAllowlist": true})", deny_approval{},
                [&](executor_options& o) { o.approval.audit = audit_log::open({.file = file}).value(); });
        CHECK(w.get("allowed.test") == "200");
        CHECK(contains(w.get("other.test"), "is rejected"));
    }
    std::stringstream log;
    log << std::ifstream(file).rdbuf();
    CHECK(contains(log.str(), R"("kind":"network","host":"allowed.test","port":)"));
    CHECK(contains(log.str(), R"("decision":"accept","by":"sandbox","waited_ms":)"));
    CHECK(contains(log.str(), R"("host":"other.test")"));
    CHECK(contains(log.str(), R"("decision":"reject","by":"sandbox")"));
    CHECK(contains(log.str(), R"("outcome":"done","sent_bytes":)"));
}

TEST_CASE("network: each kernel of a runtime has a proxy of its own, and a reset brings a new one", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    loopback_server const web(answer_with_head);
    auto options = test::options_in(dir.path());
    runtime const shared({.working_dir = options.working_dir, .kernel = {.python = options.kernel.python}},
                         bubblewrap_sandbox(configured(R"({"allowedDomains": ["allowed.test"]})")));
    executor first(options, deny_approval{}, shared);
    executor second(options, deny_approval{}, shared);
    auto const port = [](executor& box) { return text_of(box.execute("import os; print(os.environ['HTTP_PROXY'])")); };
    auto const get =
        "import urllib.request; print(urllib.request.urlopen('http://allowed.test:" + std::to_string(web.port()) +
        "/', timeout=60).status)";
    auto const before = port(first);
    CHECK(before != port(second));
    CHECK(text_of(first.execute(get)) == "200");
    REQUIRE(first.reset());
    CHECK(text_of(first.execute(get)) == "200");
    CHECK(text_of(second.execute(get)) == "200");
}

TEST_CASE("network: a foreign kernel is refused, with what to do", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    auto const sandbox = bubblewrap_sandbox(configured(R"({"allowedDomains": ["allowed.test"]})"));
    basic_executor<zmq_transport, bubblewrap_sandbox, deny_approval> box(test::options_in(dir.path()), {}, sandbox);
    auto const said = box.execute("1");
    REQUIRE_FALSE(said);
    CHECK(contains(said.error().text(), "hosts can be opened for the default kernel alone"));
}
