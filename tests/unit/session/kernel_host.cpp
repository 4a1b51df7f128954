#include <ipybox/executor.hpp>
#include <ipybox/runtime.hpp>

#include <support/catch.hpp>
#include <support/denied_call.hpp>
#include <support/held_thread.hpp>
#include <support/scripted_box.hpp>
#include <support/signal_mask.hpp>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

/** \file
 * Where kernels live: nothing is looked for and nothing is started before a transport asks for it.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

/// A PATH without programs, for as long as it lives.
class empty_path {
  public:
    empty_path() { ::setenv("PATH", "/nowhere", 1); }
    empty_path(empty_path const&) = delete;
    empty_path& operator=(empty_path const&) = delete;
    ~empty_path() { ::setenv("PATH", former_.c_str(), 1); }

  private:
    std::string const former_ = std::getenv("PATH");
};

/// A script in the place of an interpreter, which tells that it was run, and then does something more.
class telling_script {
  public:
    explicit telling_script(std::string const& more = "") {
        std::ofstream(path()) << "#!/bin/sh\necho > " << told().string() << '\n' << more << "\nexit 3\n";
        std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
    }

    [[nodiscard]] std::filesystem::path path() const { return dir_.path() / "python"; }
    [[nodiscard]] bool was_run() const { return std::filesystem::exists(told()); }

  private:
    [[nodiscard]] std::filesystem::path told() const { return dir_.path() / "told"; }

    scratch_dir dir_;
};

executor_options options_within(scratch_dir const& dir) {
    executor_options options;
    options.output.images_dir = dir.path() / "images";
    options.output.spill_dir = dir.path() / "spill";
    return options;
}

} // namespace

TEST_CASE_METHOD(scripted_box, "kernel host: a kernel without a process needs no interpreter and starts nothing") {
    empty_path const nothing;
    adapt([](executor_options& o) { o.kernel.python = "/no/such/python"; });
    script().expect("a").prints("fine").replies();
    asio::io_context context;
    on(context.get_executor());
    std::optional<std::string> text;
    without_calls({SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat}, [&] {
        (*this)->async_execute("a", {}, [&](auto const& r) { text = said(r); });
        eventually([&] {
            context.restart();
            context.run_for(1ms);
            return text.has_value();
        });
    });
    CHECK(text == "fine");
}

TEST_CASE("kernel host: a runtime looks for its interpreter with the first start, not before") {
    scratch_dir const dir;
    telling_script const python;
    runtime const shared({.working_dir = dir.path(), .kernel = {.python = python.path()}}, no_sandbox{});
    executor box(options_within(dir), {}, shared);
    CHECK_FALSE(python.was_run());
    auto const started = box.start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::python_not_found);
    CHECK_THAT(started.error().text(), Catch::Matchers::Contains("exit code 3"));
    CHECK(python.was_run());
}

TEST_CASE("kernel host: no thread takes signals while the interpreter is looked for") {
    scratch_dir const dir;
    auto const end = dir.path() / "end";
    telling_script const python("until [ -e " + end.string() + " ]; do sleep 0.01; done");
    auto options = options_within(dir);
    options.kernel.python = python.path();
    auto const before = threads();
    executor box(std::move(options), {}, no_sandbox());
    auto started = box.async_start(asio::use_future);
    CHECK(eventually([&] { return python.was_run(); }));
    auto const now = threads();
    CHECK(now.size() >= before.size() + 2); // the executor's, and the one that looks
    for (auto const thread : now)
        if (!before.contains(thread)) CHECK(eventually([&] { return takes_own_signals_alone(thread); }));
    std::ofstream{end};
    CHECK_FALSE(got(std::move(started)));
}

TEST_CASE("kernel host: each tenant is told that its runtime has no interpreter, each time") {
    scratch_dir const dir;
    std::optional<runtime> shared(std::in_place, runtime::options{.kernel = {.python = "/no/such/python"}},
                                  no_sandbox{});
    executor one(options_within(dir), {}, *shared);
    executor other(options_within(dir), {}, *shared);
    shared.reset(); // they have their shares
    for (auto* box : {&one, &other, &one}) {
        auto const started = box->start();
        REQUIRE_FALSE(started);
        CHECK(started.error() == errc::python_not_found);
        CHECK(started.error() == condition::cannot_start);
    }
}
