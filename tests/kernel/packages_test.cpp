#include <ipybox/ipybox.hpp>
#include <ipybox/os/host_programs.hpp>
#include <ipybox/os/program_output.hpp>
#include <ipybox/packages/package_installation.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/has_bubblewrap.hpp>
#include <support/kernel_box.hpp>
#include <support/loopback_server.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>

#include <fcntl.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;
using test::contains;
using test::has_bubblewrap;
using test::loopback_server;
using test::text_of;

/// A directory with the wheels of tests/support/write_wheels.py.
std::filesystem::path wheels_in(std::filesystem::path const& dir) {
    launch_spec spec;
    spec.argv = {test::python().string(), (test::source_dir() / "tests/support/write_wheels.py").string(),
                 (dir / "wheels").string()};
    spec.working_dir = dir;
    auto const said = os::program_output(spec, 60s);
    REQUIRE(said);
    REQUIRE(*said == "");
    return dir / "wheels";
}

/// Options of a layer without an index.
package_layer::options offline(std::filesystem::path const& wheels) {
    package_layer::options options;
    options.index = "";
    options.wheels = {wheels};
    return options;
}

std::shared_ptr<package_layer const> layer_of(package_layer::options options) {
    auto layer = package_layer::make(std::move(options));
    REQUIRE(layer);
    return *layer;
}

executor_options options_with(test::scratch_dir const& dir, std::shared_ptr<package_layer const> layer) {
    auto options = test::options_in(dir.path());
    options.kernel.packages = std::move(layer);
    return options;
}

std::string names_of(result<package_layer::installation> const& installed) {
    if (!installed) return installed.error().code().message() + ": " + installed.error().text();
    std::string names;
    for (auto const& package : installed->installed) names += package.name + "-" + package.version + " ";
    return names;
}

std::error_code code_of_installation(result<package_layer::installation> const& installed) {
    return installed ? std::error_code() : installed.error().code();
}

/// An index that has the files of a directory, as pip asks for them.
void serve_index(asio::ip::tcp::socket& socket, std::filesystem::path const& wheels) {
    auto const head = test::read_head(socket);
    auto const from = head.find(' ') + 1;
    auto const path = head.substr(from, head.find(' ', from) - from);
    std::string body;
    if (path.ends_with(".whl")) {
        std::ifstream file(wheels / std::filesystem::path(path).filename(), std::ios::binary);
        body.assign(std::istreambuf_iterator<char>(file), {});
    } else {
        for (auto const& entry : std::filesystem::directory_iterator(wheels)) {
            auto const name = entry.path().filename().string();
            body += "<a href=\"/files/" + name + "\">" + name + "</a>\n";
        }
    }
    auto const type = path.ends_with(".whl") ? "application/octet-stream" : "text/html";
    asio::error_code gone;
    asio::write(socket,
                asio::buffer(std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ") + type +
                             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body),
                gone);
}

/// A layer whose index is on the loopback of this machine, by the name `index.test`.
package_layer::options indexed(std::uint16_t port, std::string const& name = "index.test") {
    package_layer::options options;
    options.index = "http://" + name + ":" + std::to_string(port) + "/simple";
    options.network.resolve = [](std::string const& host) -> result<std::vector<asio::ip::address>> {
        if (host != "index.test") return failure(errc::io_error, host + " has no address");
        return std::vector<asio::ip::address>{asio::ip::make_address("127.0.0.1")};
    };
    return options;
}

/// A server that takes connections and says nothing while this lives.
class silent_server {
  public:
    silent_server() : web_([until = over_.get_future().share()](asio::ip::tcp::socket&) { until.wait(); }) {}
    silent_server(silent_server const&) = delete;
    silent_server& operator=(silent_server const&) = delete;
    ~silent_server() { over_.set_value(); }

    loopback_server const* operator->() const { return &web_; }

  private:
    std::promise<void> over_;
    loopback_server web_;
};

/// What an installation without a kernel comes to.
result<std::vector<package_layer::package>> outcome_of(std::filesystem::path const& python,
                                                       package_layer::options options) {
    asio::io_context context;
    detail::installation_streams unheard{os::unique_fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
                                         os::unique_fd(::open("/dev/null", O_WRONLY | O_CLOEXEC))};
    detail::package_order order;
    order.requirements = {"ipybox_tiny"};
    auto const begun =
        detail::package_installation::start(context.get_executor(), os::host_programs::now(),
                                            layer_of(std::move(options)), python, order, std::move(unheard), {});
    if (!begun) return failure(begun.error());
    auto const ended = asio::co_spawn(context, (*begun)->ended(), asio::use_future);
    context.run();
    return (*begun)->outcome();
}

/// How many processes this one has started, and has not waited for.
std::ptrdiff_t children() {
    std::ptrdiff_t count = 0;
    for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "children");
        count += std::distance(std::istream_iterator<int>(file), {});
    }
    return count;
}

} // namespace

TEST_CASE("packages: what is installed can be imported in the running session, and nothing there is replaced",
          "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    auto options = offline(wheels_in(dir.path()));
    options.directory = dir.path() / "layer";
    auto const layer = layer_of(options);
    executor box(options_with(dir, layer), auto_approval{}, bubblewrap_sandbox{});
    REQUIRE(text_of(box.execute("state = 1\nimport json, sys\n"
                                "try: import ipybox_tiny\n"
                                "except ImportError: print('missing')")) == "missing");

    // With what it needs, in a version that fits.
    auto const needs = box.install_package("ipybox_needs");
    CHECK(contains(names_of(needs), "ipybox_needs-1.0 "));
    CHECK(contains(names_of(needs), "ipybox_tiny-1.0 "));
    CHECK(text_of(box.execute("import ipybox_shared.needs, ipybox_tiny; print(state, ipybox_tiny.version)")) ==
          "1 1.0");

    // From the code: a package that shares a directory with another, and whose modules have names that are taken.
    auto const more =
        text_of(box.execute("%pip install ipybox_more\n"
                            "import importlib, ipybox_shared, ipybox_shared.more\n"
                            "print(_exit_code, importlib.reload(json).__file__.startswith(sys.base_prefix))"));
    CHECK(contains(more, "Successfully installed ipybox_more-1.0\n"));
    CHECK(contains(more, "0 True"));

    // Another version of what is loaded, of what the interpreter has, and a file of another package.
    CHECK(code_of_installation(box.install_package("ipykernel==0.1")) == errc::package_conflict);
    CHECK(code_of_installation(box.install_package("ipybox_thief")) == errc::package_conflict);
    auto const nothing = box.install_package("ipybox_nothing");
    REQUIRE_FALSE(nothing);
    CHECK(nothing.error() == errc::package_not_installed);
    CHECK(contains(nothing.error().text(), "No matching distribution found"));
    CHECK(text_of(box.execute("print(importlib.reload(ipybox_tiny).version)")) == "1.0");

    // Code cannot write to the layer, nor have pip read for it.
    CHECK(contains(text_of(box.execute("try: open('" + layer->path().string() +
                                       "/x.py', 'w')\nexcept OSError as e: print(e.strerror)")),
                   "Read-only file system"));
    CHECK(contains(text_of(box.execute("try: open('" + layer->path().string() +
                                       "/.lock')\nexcept OSError as e: print(e.strerror)")),
                   "Permission denied")); // it could hold the lock
    CHECK(contains(text_of(box.execute("%pip install -r /etc/passwd")), "cannot be used here"));

    // It ran on the host: what went wrong there is not explained by the sandbox.
    auto const missing = text_of(box.execute("%pip install ipybox_nothing"));
    CHECK(contains(missing, "No matching distribution found"));
    CHECK_FALSE(contains(missing, "[ipybox]"));

    // Kept, and shared.
    options.access = package_layer::permission::import;
    executor later(options_with(dir, layer_of(options)), auto_approval{}, bubblewrap_sandbox{});
    CHECK(text_of(later.execute("import ipybox_tiny; print(ipybox_tiny.version)")) == "1.0");
    CHECK(code_of_installation(later.install_package("ipybox_tiny")) == errc::invalid_argument);
    CHECK_FALSE(std::filesystem::exists(layer->path() / ".staging"));
}

TEST_CASE("packages: rules decide what may be installed", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    auto options = options_with(dir, layer_of(offline(wheels_in(dir.path()))));
    auto rules =
        approval_rules::parse(R"({"allow": [{"kind": "package", "argv": ["pip", "install", "ipybox_tiny"]}]})");
    REQUIRE(rules);
    options.approval.rules = *rules;
    executor box(options, deny_approval{}, bubblewrap_sandbox{});
    CHECK(code_of_installation(box.install_package("ipybox_more")) == errc::approval_rejected);
    CHECK(contains(text_of(box.execute("%pip install ipybox_more")), "ApprovalRejectedError"));
    // The environment of the code is not that of pip, and needs no rule.
    CHECK(contains(text_of(box.execute("import os; os.environ['X'] = '1'\n%pip install ipybox_tiny")),
                   "Successfully installed ipybox_tiny-2.0"));
}

TEST_CASE("packages: pip reaches the index by name, and nothing else", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    auto const wheels = wheels_in(dir.path());
    loopback_server web([wheels](asio::ip::tcp::socket& socket) { serve_index(socket, wheels); });
    executor box(options_with(dir, layer_of(indexed(web.port()))), auto_approval{}, bubblewrap_sandbox{});
    CHECK(
        contains(text_of(box.execute("%pip install -q ipybox_needs\nimport ipybox_shared.needs")), "ipybox_needs-1.0"));
    CHECK(names_of(box.install_package("ipybox_needs")) == "");
    int const before = web.connections;
    CHECK(before > 0);

    auto by_address = layer_of(indexed(web.port(), "127.0.0.1"));
    executor other(options_with(dir, by_address), auto_approval{}, bubblewrap_sandbox{});
    CHECK(names_of(other.install_package("ipybox_tiny")) == "ipybox_tiny-2.0 ");
    int const before_others = web.connections;

    auto const away = outcome_of(test::python(), indexed(web.port(), "elsewhere.test"));
    REQUIRE_FALSE(away);
    CHECK(away.error() == errc::package_index_unreachable);
    CHECK(contains(away.error().text(), "elsewhere.test has no address; packages come from the index"));
    auto denied = indexed(web.port());
    denied.network.denied_domains.push_back(sandbox_config::domain_pattern::parse("index.test").value());
    auto const closed = outcome_of(test::python(), denied);
    REQUIRE_FALSE(closed);
    CHECK(closed.error() == errc::package_index_unreachable);
    CHECK(web.connections == before_others);
}

TEST_CASE("packages: an installation ends with its cell, and with its kernel", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    silent_server const web;
    {
        executor box(options_with(dir, layer_of(indexed(web->port()))), auto_approval{}, bubblewrap_sandbox{});
        REQUIRE(box.execute("x = 1"));
        execute_options timed;
        timed.timeout = 3s;
        auto const late = box.execute("%pip install ipybox_tiny", timed);
        REQUIRE_FALSE(late);
        CHECK(late.error() == errc::timed_out);
        CHECK(text_of(box.execute("print(x)")) == "1");

        std::promise<result<package_layer::installation>> installed;
        int const before = web->connections;
        box.async_install_package({"ipybox_tiny"},
                                  [&](result<package_layer::installation> r) { installed.set_value(std::move(r)); });
        while (web->connections == before) std::this_thread::sleep_for(5ms);
        REQUIRE(box.reset());
        auto const ended = installed.get_future().get();
        REQUIRE_FALSE(ended);
        CHECK(ended.error() == errc::cancelled);
    }
}

TEST_CASE("packages: nothing is installed where a layer was replaced", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    auto options = offline(wheels_in(dir.path()));
    options.directory = dir.path() / "layer";
    executor box(options_with(dir, layer_of(options)), auto_approval{}, bubblewrap_sandbox{});
    REQUIRE(box.execute("x = 1"));
    std::filesystem::create_directory(dir.path() / "elsewhere");
    std::filesystem::rename(options.directory, dir.path() / "moved");
    std::filesystem::create_directory_symlink(dir.path() / "elsewhere", options.directory);
    auto const refused = box.install_package("ipybox_tiny");
    REQUIRE_FALSE(refused);
    CHECK(contains(refused.error().text(), "was removed or replaced"));
    CHECK(std::filesystem::is_empty(dir.path() / "elsewhere"));
}

TEST_CASE("packages: a name that is too long", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    executor box(options_with(dir, layer_of(offline(wheels_in(dir.path())))), auto_approval{}, bubblewrap_sandbox{});
    REQUIRE(box.execute("x = 1"));
    CHECK(code_of_installation(box.install_package(std::string(200'000, 'a'))) == errc::message_too_large);
    CHECK(box.execute("x"));
}

TEST_CASE("packages: a session has one installation under way at a time", "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    silent_server const web;
    executor box(options_with(dir, layer_of(indexed(web->port()))), auto_approval{}, bubblewrap_sandbox{});
    REQUIRE(box.execute("x = 1"));
    auto const before = children();
    std::vector<std::future<result<package_layer::installation>>> installed;
    for (int i = 0; i < 4; ++i) {
        auto done = std::make_shared<std::promise<result<package_layer::installation>>>();
        installed.push_back(done->get_future());
        box.async_install_package({"ipybox_tiny"},
                                  [done](result<package_layer::installation> r) { done->set_value(std::move(r)); });
    }
    while (web->connections == 0) std::this_thread::sleep_for(5ms);
    CHECK(children() == before + 1);
    REQUIRE(box.reset());
    for (auto& each : installed) CHECK(code_of_installation(each.get()) == errc::cancelled);
}

TEST_CASE("packages: an interpreter without pip, an index that does not answer, and a kernel without a layer",
          "[kernel]") {
    if (!has_bubblewrap()) return;
    test::scratch_dir const dir;
    launch_spec spec;
    spec.argv = {test::python().string(), "-m", "venv", "--without-pip", (dir.path() / "bare").string()};
    spec.working_dir = dir.path();
    REQUIRE(os::program_output(spec, 60s));

    auto const bare = outcome_of(dir.path() / "bare/bin/python", offline(dir.path()));
    REQUIRE_FALSE(bare);
    CHECK(bare.error() == errc::pip_missing);
    CHECK(contains(bare.error().text(), "-m ensurepip"));

    silent_server const web;
    auto options = indexed(web->port());
    options.timeout = 1s;
    auto const late = outcome_of(test::python(), options);
    REQUIRE_FALSE(late);
    CHECK(late.error() == errc::timed_out);

    executor box(test::options_in(dir.path()), deny_approval{}, test::unsandboxed);
    auto const nowhere = box.install_package("ipybox_tiny");
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error() == errc::invalid_argument);
    CHECK(contains(nowhere.error().text(), "set kernel.packages of the executor, or of its runtime (--packages DIR)"));
}

TEST_CASE("packages: no kernel is started for an installation where one was stopped", "[kernel]") {
    test::scratch_dir const dir;
    executor box(options_with(dir, layer_of(offline(dir.path()))), auto_approval{}, test::unsandboxed);
    REQUIRE(box.execute("x = 1"));

    std::promise<result<package_layer::installation>> installed;
    box.async_stop([](result<void> const&) {});
    box.async_install_package({"ipybox_tiny"},
                              [&](result<package_layer::installation> r) { installed.set_value(std::move(r)); });
    auto const refused = installed.get_future().get();
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::not_running);
    CHECK(contains(refused.error().text(), "start() brings a fresh kernel"));
    CHECK(box.state() == executor::kernel_state::stopped);
}
