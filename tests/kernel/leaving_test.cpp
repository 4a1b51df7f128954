#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/eventually.hpp>
#include <support/holdings.hpp>
#include <support/kernel_box.hpp>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/** \file
 * Executors and contexts that are destroyed at every moment of a life: whatever is under way then completes, and
 * nothing is left.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// What was begun, and outlives where it works.
struct begun {
    std::vector<std::future<result<execution_result>>> cells;
    std::vector<std::future<result<void>>> orders;
    std::vector<execution_stream> streams;

    std::mutex mutex;
    std::optional<approval_request> asked;
    std::optional<input_request> question;

    bool is_asked() {
        std::scoped_lock const lock(mutex);
        return asked.has_value();
    }
    bool is_questioned() {
        std::scoped_lock const lock(mutex);
        return question.has_value();
    }

    /// All of it has an outcome, and what comes late does nothing.
    void has_ended() {
        for (auto& cell : cells) CHECK(cell.wait_for(30s) == std::future_status::ready);
        for (auto& order : orders) CHECK(order.wait_for(30s) == std::future_status::ready);
        for (auto& stream : streams)
            while (stream.next()) {}
        if (asked) CHECK_FALSE(asked->accept());
        if (question) question->reply("late");
        asked.reset();
        question.reset();
    }
};

/// A moment in the life of an executor, and how it is reached.
struct moment {
    char const* name;
    std::function<void(executor&, std::shared_ptr<begun> const&)> reach;
};

mcp::server_params sleeping_tools() {
    mcp::server_params params;
    params.command = python().string();
    params.args = {(source_dir() / "tests/support/tool_server.py").string()};
    return params;
}

bool is_busy(executor const& box) {
    return eventually([&] { return box.state() == executor::kernel_state::busy; });
}

std::vector<moment> const moments = {
    {"nothing", [](executor&, auto const&) {}},
    {"a start", [](executor& box, auto const& all) { all->orders.push_back(box.async_start(asio::use_future)); }},
    {"a cell, and others that wait",
     [](executor& box, auto const& all) {
         all->cells.push_back(box.async_execute("while True: pass", {}, asio::use_future));
         all->cells.push_back(box.async_execute("1", {}, asio::use_future));
         all->streams.push_back(box.stream("2"));
         CHECK(is_busy(box));
     }},
    {"a stream that is not read",
     [](executor& box, auto const& all) {
         all->streams.push_back(box.stream("print('x' * 20_000_000)"));
         CHECK(is_busy(box));
     }},
    {"an approval",
     [](executor& box, auto const& all) {
         all->cells.push_back(box.async_execute("!echo hi", {}, asio::use_future));
         CHECK(eventually([&] { return all->is_asked(); }));
     }},
    {"a question",
     [](executor& box, auto const& all) {
         execute_options options;
         options.on_input = [all](input_request question) {
             std::scoped_lock const lock(all->mutex);
             all->question.emplace(std::move(question));
         };
         all->cells.push_back(box.async_execute("input()", options, asio::use_future));
         CHECK(eventually([&] { return all->is_questioned(); }));
     }},
    {"a call of a tool",
     [](executor& box, auto const& all) {
         CHECK(box.register_mcp_server("tools", sleeping_tools()));
         all->cells.push_back(box.async_execute("import json\nfrom ipybox_kernel import actions\n"
                                                "actions.current.call('call', {'server': 'tools', 'tool': 'sleep'}, "
                                                "json.dumps({'seconds': 60}).encode())",
                                                {}, asio::use_future));
         CHECK(eventually([&] { return all->is_asked(); }));
         std::optional<approval_request> asked;
         {
             std::scoped_lock const lock(all->mutex);
             asked.swap(all->asked);
         }
         CHECK(asked->accept());
     }},
    {"a reset",
     [](executor& box, auto const& all) {
         all->cells.push_back(box.async_execute("while True: pass", {}, asio::use_future));
         CHECK(is_busy(box));
         all->orders.push_back(box.async_reset(asio::use_future));
     }},
    {"a stop",
     [](executor& box, auto const& all) {
         all->cells.push_back(box.async_execute("while True: pass", {}, asio::use_future));
         CHECK(is_busy(box));
         all->orders.push_back(box.async_stop(asio::use_future));
     }},
};

enum class where { own_thread, context, strand, pool, context_and_shared_runtime };

/// Where an executor works, and what the application has of it.
class place {
  public:
    place(where w, std::filesystem::path const& dir) {
        if (w == where::context_and_shared_runtime)
            shared_.emplace(runtime::options{.working_dir = dir, .kernel = {.python = python()}}, unsandboxed);
        if (w == where::pool) pool_ = std::make_unique<asio::thread_pool>(2);
        if (w == where::own_thread || w == where::pool) return;
        context_ = std::make_unique<asio::io_context>();
        work_.emplace(context_->get_executor());
        runner_ = std::thread([this] { context_->run(); });
        if (w == where::strand) strand_.emplace(asio::make_strand(*context_));
    }
    place(place const&) = delete;
    place& operator=(place const&) = delete;
    ~place() { end(); }

    [[nodiscard]] std::unique_ptr<executor> make(executor_options const& options, any_approval const& approval) const {
        if (pool_) return std::make_unique<executor>(pool_->get_executor(), options, approval, unsandboxed);
        if (shared_) return std::make_unique<executor>(context_->get_executor(), options, approval, *shared_);
        if (strand_) return std::make_unique<executor>(*strand_, options, approval, unsandboxed);
        if (context_) return std::make_unique<executor>(context_->get_executor(), options, approval, unsandboxed);
        return std::make_unique<executor>(options, approval, unsandboxed);
    }

    /// The application's part goes, with what is under way there.
    void end() {
        if (context_) context_->stop();
        if (runner_.joinable()) runner_.join();
        strand_.reset();
        work_.reset();
        context_.reset();
        if (pool_) pool_->stop();
        if (pool_) pool_->join();
        pool_.reset();
    }

  private:
    std::optional<runtime> shared_;
    std::unique_ptr<asio::io_context> context_;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    std::optional<asio::strand<asio::io_context::executor_type>> strand_;
    std::thread runner_;
    std::unique_ptr<asio::thread_pool> pool_;
};

/// Lives until a moment, and leaves.
void leave_at(moment const& when, where w, bool executor_first) {
    scratch_dir const dir;
    auto options = options_in(dir.path());
    options.approval.shell_cmds = true;
    options.kernel.end_grace = 100ms;
    auto const all = std::make_shared<begun>();
    auto const keep = [all](approval_request request) {
        std::scoped_lock const lock(all->mutex);
        all->asked.emplace(std::move(request));
    };
    {
        place here(w, dir.path());
        auto box = here.make(options, any_approval(callback_approval{keep}));
        when.reach(*box, all);
        if (executor_first) box.reset();
        here.end();
        box.reset();
    }
    all->has_ended();
}

/// What is held when nothing changes any more: threads and processes of an executor may still be ending.
holdings at_rest() {
    holdings last;
    CHECK(eventually([&last] {
        auto const before = std::exchange(last, holdings());
        std::this_thread::sleep_for(300ms);
        return holdings() == last && last == before;
    }));
    return last;
}

void leave_at_every_moment(where w) {
    leave_at(moments[2], w, true); // what a process keeps from its first executor on does not count
    auto const before = at_rest();
    for (auto const& when : moments) {
        for (bool const executor_first : {true, false}) {
            INFO(when.name << (executor_first ? "; the executor first" : "; the context first"));
            leave_at(when, w, executor_first);
            CHECK(eventually([&] { return holdings().descriptors == before.descriptors; }));
            CHECK(eventually([&] { return holdings() == before; }));
            if (w == where::own_thread) break;
        }
    }
}

} // namespace

TEST_CASE("leaving at every moment: an own thread") { leave_at_every_moment(where::own_thread); }
TEST_CASE("leaving at every moment: a context") { leave_at_every_moment(where::context); }
TEST_CASE("leaving at every moment: a strand") { leave_at_every_moment(where::strand); }
TEST_CASE("leaving at every moment: a pool") { leave_at_every_moment(where::pool); }
TEST_CASE("leaving at every moment: a context, and a runtime that is shared") {
    leave_at_every_moment(where::context_and_shared_runtime);
}

TEST_CASE("a context that is destroyed leaves nothing of a ZeroMQ transport") {
    for (bool const executor_first : {true, false}) {
        scratch_dir const dir;
        auto context = std::make_unique<asio::io_context>();
        using zmq_executor = basic_executor<zmq_transport, no_sandbox, deny_approval>;
        auto box = std::make_unique<zmq_executor>(context->get_executor(), options_in(dir.path()), deny_approval(),
                                                  no_sandbox(), zmq_transport());
        auto file =
            box->async_execute("import ipykernel\nprint(ipykernel.get_connection_file())", {}, asio::use_future);
        while (file.wait_for(0s) != std::future_status::ready) context->run_for(5ms);
        auto const found = file.get();
        REQUIRE(found);
        auto const place = std::filesystem::path(found->text).parent_path();
        CHECK(std::filesystem::exists(place));
        auto running = box->async_execute("while True: pass", {}, asio::use_future);
        context->run_for(100ms);
        if (executor_first) box.reset();
        context.reset();
        box.reset();
        CHECK(running.wait_for(30s) == std::future_status::ready);
        CHECK(eventually([&] { return !std::filesystem::exists(place); }));
    }
}

TEST_CASE("an application's loop goes on while a supervisor that does not answer is stopped") {
    scratch_dir const dir;
    asio::io_context context;
    executor box(context.get_executor(), options_in(dir.path()), any_approval(), unsandboxed);
    auto above = box.async_execute("import os\nprint(os.getppid())", {}, asio::use_future);
    while (above.wait_for(0s) != std::future_status::ready) context.run_for(5ms);
    auto const supervisor = std::stoi(above.get()->text);
    REQUIRE(::kill(supervisor, SIGSTOP) == 0);
    auto stopped = box.async_stop(asio::use_future);
    auto longest = 0ns;
    auto last = std::chrono::steady_clock::now();
    while (stopped.wait_for(0s) != std::future_status::ready) {
        context.run_one_for(5ms);
        auto const now = std::chrono::steady_clock::now();
        longest = std::max<std::chrono::nanoseconds>(longest, now - std::exchange(last, now));
    }
    CHECK(stopped.get());
    CHECK(longest < 900ms); // one that is waited for takes a second, and one more to be killed
    CHECK(eventually([supervisor] { return ::kill(supervisor, 0) != 0; }));
}
