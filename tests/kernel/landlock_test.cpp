#include <ipybox/ipybox.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/kernel_box.hpp>
#include <support/landlock_abi.hpp>
#include <support/skip.hpp>

#include <cerrno>
#include <filesystem>
#include <string>

/** \file
 * Executors in landlock_sandbox and best_sandbox, on systems whose Landlock is too old.
 */

namespace {

using namespace ipybox;
using test::contains;
using test::text_of;

/// Why the start of an executor in landlock_sandbox fails; it is never without a sandbox instead.
std::string refusal() {
    test::scratch_dir const dir;
    auto const options = test::options_in(dir.path());
    executor box(options, deny_approval{}, landlock_sandbox());
    auto const started = box.start();
    REQUIRE_FALSE(started);
    CHECK(started.error() == errc::sandbox_unavailable);
    CHECK(started.error() == condition::cannot_start);
    auto const ran = box.execute("open('ran', 'w')");
    REQUIRE_FALSE(ran);
    CHECK(ran.error() == errc::sandbox_unavailable);
    CHECK_FALSE(std::filesystem::exists(options.working_dir / "ran"));
    return started.error().text();
}

} // namespace

TEST_CASE("landlock: with ABI 1 to 5, or none, the start of an executor fails and says which one there is",
          "[kernel]") {
    for (int abi = 1; abi <= 5; ++abi)
        test::with_landlock_abi(abi,
                                [abi] { CHECK(contains(refusal(), "this system has ABI " + std::to_string(abi))); });
    test::without_landlock(ENOSYS, [] { CHECK(contains(refusal(), "this system has none")); });
}

TEST_CASE("landlock: with ABI 6 an executor starts, with 5 best_sandbox starts nothing without bubblewrap",
          "[kernel]") {
    test::scratch_dir const dir;
    if (auto const works = landlock_sandbox().wrap({{"/bin/true"}, {}, dir.path()}); !works)
        return test::skip(works.error().text());
    auto const options = test::options_in(dir.path());
    test::with_landlock_abi(6, [&] {
        executor box(options, deny_approval{}, landlock_sandbox());
        CHECK(text_of(box.execute("print(6 * 7)")) == "42");
    });
    best_sandbox const without_bubblewrap(bubblewrap_sandbox({.program = dir.path() / "no-bwrap"}), landlock_sandbox());
    test::with_landlock_abi(5, [&] {
        executor box(options, deny_approval{}, without_bubblewrap);
        auto const started = box.start();
        REQUIRE_FALSE(started);
        CHECK(started.error() == errc::sandbox_unavailable);
        CHECK(contains(started.error().text(), "no-bwrap"));
        CHECK(contains(started.error().text(), "this system has ABI 5"));
    });
}
