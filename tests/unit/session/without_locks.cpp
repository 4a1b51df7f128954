#include <ipybox/approval/deny_approval.hpp>
#include <ipybox/executor.hpp>
#include <ipybox/mcp/server_registry.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/tools/host_tool.hpp>

#include <support/catch.hpp>
#include <support/eventually.hpp>
#include <support/scratch_dir.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// Finds out whether another thread may use the executor, wherever the application's code runs.
class open_box {
  public:
    open_box() {
        adapt([](executor_options&) {});
    }
    open_box(open_box const&) = delete;
    open_box& operator=(open_box const&) = delete;
    ~open_box() {
        box_.reset();
        for (auto& thread : threads_) thread.join();
    }

    template <class Adapt>
    void adapt(Adapt change) {
        executor_options options;
        options.output.images_dir = dir_.path();
        change(options);
        box_ = std::make_unique<executor>(options, any_approval(deny_approval()), no_sandbox());
    }

    [[nodiscard]] executor* operator->() { return box_.get(); }

    void ask() {
        auto const answered = std::make_shared<std::promise<void>>();
        std::thread other([this, answered] {
            (void)(*this)->state();
            (void)(*this)->mcp_servers();
            (void)(*this)->tools();
            (void)(*this)->add_tool(host_tool("another", "", [] { return 1; }), "others");
            (void)(*this)->remove_tools("others");
            answered->set_value();
        });
        if (answered->get_future().wait_for(5s) == std::future_status::timeout) ++locked;
        {
            std::scoped_lock const lock(mutex_);
            threads_.push_back(std::move(other));
        }
        ++asked;
    }

    std::atomic<int> asked = 0;
    std::atomic<int> locked = 0;

  private:
    scratch_dir dir_;
    std::unique_ptr<executor> box_;
    std::mutex mutex_;
    std::vector<std::thread> threads_;
};

/// Asks when its last copy ends.
std::shared_ptr<void> asking(open_box& box) {
    return {nullptr, [&box](std::nullptr_t) { box.ask(); }};
}

host_tool tool_with(std::shared_ptr<void> held, std::string name = "f") {
    return host_tool(std::move(name), "", [held = std::move(held)] { return 1; });
}

struct sandbox_with {
    std::shared_ptr<void> held;
    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const { return spec; }
};

mcp::server_params server_with(std::shared_ptr<void> held) {
    mcp::server_params params;
    params.command = "cat";
    params.sandbox.emplace(sandbox_with{std::move(held)});
    return params;
}

} // namespace

TEST_CASE_METHOD(open_box, "session: tools that are refused, or withdrawn, end without a lock") {
    REQUIRE((*this)->add_tool(host_tool("f", "", [] { return 1; })));
    CHECK((*this)->add_tool(tool_with(asking(*this))).error() == errc::invalid_argument);
    CHECK(asked == 1);
    REQUIRE((*this)->register_mcp_server("server", server_with(nullptr)));
    CHECK((*this)->add_tool(tool_with(asking(*this)), "server").error() == errc::mcp_server_exists);
    CHECK(asked == 2);
    REQUIRE((*this)->add_tool(tool_with(asking(*this), "g")));
    REQUIRE((*this)->remove_tool("g"));
    CHECK(asked == 3);
    CHECK(locked == 0);
}

TEST_CASE_METHOD(open_box, "session: sandboxes of servers that are refused, replaced or removed end without a lock") {
    REQUIRE((*this)->register_mcp_server("a", server_with(asking(*this))));
    CHECK((*this)->register_mcp_server("a", server_with(asking(*this))).error() == errc::mcp_server_exists);
    CHECK(asked == 1);
    for (int i = 0; i < 30; ++i) REQUIRE((*this)->replace_mcp_server("a", server_with(asking(*this))));
    REQUIRE((*this)->remove_mcp_server("a"));
    CHECK(eventually([&] { return asked == 32; })); // the executor's thread may have the last copies
    CHECK(locked == 0);
}

TEST_CASE_METHOD(open_box, "session: values of variables are asked for without a lock") {
    auto const servers = std::make_shared<mcp::registry_options>();
    servers->variables = [this](std::string const&) {
        ask();
        return std::optional<std::string>("x");
    };
    adapt([&](executor_options& options) { options.mcp.options = servers; });
    auto params = server_with(nullptr);
    params.args = {"${NAME}"};
    REQUIRE((*this)->register_mcp_server("a", params));
    (void)(*this)->unprotected_files();
    CHECK(asked > 0);
    CHECK(locked == 0);
}
