// A transport of somebody else that forks kernels, adapted by transport_traits: it has what the library's own has.

#include <ipybox/codegen.hpp>
#include <ipybox/tools/host_tool.hpp>

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/kernel_box.hpp"

namespace their {

/// Knows nothing of ipybox's names for its operations.
class link {
  public:
    using message = ipybox::jupyter::message;

    asio::awaitable<ipybox::result<ipybox::kernel_host::info>> open(std::shared_ptr<ipybox::kernel_host> host,
                                                                    ipybox::kernel_host::launch launch) {
        return inner_.start(std::move(host), std::move(launch));
    }
    asio::awaitable<ipybox::result<void>> put(message m) {
        ++sent;
        return inner_.send(std::move(m));
    }
    asio::awaitable<ipybox::result<message>> take() { return inner_.receive(); }
    asio::awaitable<ipybox::result<void>> strike() { return inner_.interrupt(); }
    asio::awaitable<void> close() { return inner_.stop(); }
    [[nodiscard]] ipybox::kernel_host::process process() const { return inner_.kernel(); }

    int sent = 0;

  private:
    ipybox::socketpair_transport inner_;
};

/// The same, without a way to run programs for its kernels.
struct silent_link : link {};

} // namespace their

namespace {

template <class Link>
struct link_traits {
    using message = ipybox::jupyter::message;

    static asio::awaitable<ipybox::result<ipybox::kernel_host::info>>
    start(Link& l, std::shared_ptr<ipybox::kernel_host> h, ipybox::kernel_host::launch launch) {
        return l.open(std::move(h), std::move(launch));
    }
    static asio::awaitable<ipybox::result<void>> send(Link& l, message m) { return l.put(std::move(m)); }
    static asio::awaitable<ipybox::result<message>> receive(Link& l) { return l.take(); }
    static asio::awaitable<ipybox::result<void>> interrupt(Link& l) { return l.strike(); }
    static asio::awaitable<void> stop(Link& l) { return l.close(); }

    static constexpr bool forks_kernels = true;
    static constexpr bool orders_messages = true;
};

} // namespace

template <>
struct ipybox::transport_traits<their::link> : link_traits<their::link> {
    static ipybox::kernel_host::process kernel(their::link const& l) { return l.process(); }
    static constexpr bool carries_actions = true;
    static constexpr bool can_be_guarded = true;
};

template <>
struct ipybox::transport_traits<their::silent_link> : link_traits<their::silent_link> {
    static constexpr bool carries_actions = false;
    static constexpr bool can_be_guarded = false;
};

namespace {

using namespace ipybox;
using namespace ipybox::test;

executor_options guarded_in(std::filesystem::path const& dir) {
    auto options = options_in(dir);
    options.approval.shell_cmds = true;
    options.approval.require_shell_escape = true;
    return options;
}

} // namespace

TEST_CASE("a transport of somebody else: code calls tools, asks for commands, and is guarded", "[kernel]") {
    scratch_dir const dir;
    std::vector<std::string> asked;
    auto const policy = [&asked](approval_request const& request) {
        asked.push_back(request.kind() == approval_subject::action::tool
                            ? request.tool()
                            : request.commands().commands[0].words[0].text);
        return decision::accept();
    };
    basic_executor box(guarded_in(dir.path()), policy, no_sandbox(), their::link());
    REQUIRE(box.add_tool(host_tool("twice", "Doubles a number", {"n"}, [](int n) { return 2 * n; })));
    REQUIRE(box.generate_mcp_sources("host", dir.path() / "work/mcptools"));

    CHECK(text_of(box.execute("from mcptools.host import twice\ntwice.run(twice.Params(n=21))")) == "42");
    CHECK(text_of(box.execute("!echo ran")) == "ran");
    CHECK(asked == std::vector<std::string>{"twice", "echo"});
    CHECK(box.transport()->sent >= 2);

    // What does not ask is not started.
    auto const around = box.execute("import subprocess\nsubprocess.run(['true'])");
    REQUIRE_FALSE(around);
    REQUIRE(around.error().exception());
    CHECK(around.error().exception()->ename == "PermissionError");
}

TEST_CASE("a transport of somebody else: one that carries no actions starts no kernel that has to ask", "[kernel]") {
    scratch_dir const dir;
    auto options = guarded_in(dir.path());
    auto const start_of = [&options] {
        basic_executor box(options, auto_approval(), no_sandbox(), their::silent_link());
        auto const started = box.start();
        return started ? std::error_code() : started.error().code();
    };
    CHECK(start_of() == make_error_code(errc::guard_unavailable));
    options.approval.require_shell_escape = false;
    CHECK(start_of() == make_error_code(errc::invalid_argument));
    options.approval.shell_cmds = false;
    CHECK_FALSE(start_of());
}
