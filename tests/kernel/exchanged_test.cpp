#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/has_bubblewrap.hpp"
#include "support/kernel_box.hpp"

/** \file
 * Directories that another program exchanges between the sandbox's look at them and its mounts.
 */

namespace {

using namespace ipybox;
using namespace ipybox::test;
using Catch::Matchers::Contains;

/// bubblewrap_sandbox, with something that happens when it has looked at all paths and mounted none.
struct interrupted_sandbox {
    bubblewrap_sandbox sandbox;
    std::function<void()> meanwhile;

    [[nodiscard]] result<launch_spec> wrap(launch_spec spec) const {
        auto wrapped = sandbox.wrap(std::move(spec));
        meanwhile();
        return wrapped;
    }
};

/// Puts a link in the place of a file or directory. bwrap follows those that are relative alone.
void exchange_for_link(std::filesystem::path const& path, std::filesystem::path const& target) {
    std::filesystem::rename(path, path.string() + "-away");
    std::filesystem::create_symlink(target.lexically_relative(path.parent_path()), path);
}

} // namespace

TEST_CASE("exchanged: a directory that became a link since it was looked at is not opened", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    dir.write("secrets/key", "secret");
    auto const options = options_in(dir.path());
    auto const& work = options.working_dir;
    dir.write("work/closed/open/x", "x");
    dir.write("work/.git/hooks/sample", "x");
    auto const config =
        sandbox_config::parse(R"({"filesystem": {"denyRead": ["closed"], "allowWrite": [".", "closed/open"]}})");
    REQUIRE(config);
    for (auto const* name : {"closed/open", ".git/hooks"}) {
        INFO(name);
        auto const path = work / name;
        auto const exchange = [&] { exchange_for_link(path, dir.path() / "secrets"); };
        executor box(options, deny_approval{}, interrupted_sandbox{bubblewrap_sandbox(*config), exchange});
        auto const started = box.start();
        REQUIRE_FALSE(started);
        CHECK(started.error() == errc::kernel_start_failed);
        // Where nothing is at the link's end in the sandbox, bwrap itself cannot mount there.
        CHECK_THAT(started.error().text(), Contains(path.string() + " was exchanged for something else") ||
                                               Contains("Unable to mount source on destination"));
        std::filesystem::remove(path);
        std::filesystem::rename(path.string() + "-away", path);
    }
    executor box(options, deny_approval{}, interrupted_sandbox{bubblewrap_sandbox(*config), [] {}});
    CHECK(text_of(box.execute("open('closed/open/x').read(), open('closed/open/y', 'w').write('1')")) == "('x', 1)");
}

TEST_CASE("exchanged: the working directory itself", "[kernel]") {
    if (!has_bubblewrap()) return;
    scratch_dir const dir;
    dir.write("secrets/key", "secret");
    auto const options = options_in(dir.path());
    auto const exchange = [&] { exchange_for_link(options.working_dir, dir.path() / "secrets"); };
    executor box(options, deny_approval{}, interrupted_sandbox{bubblewrap_sandbox{}, exchange});
    CHECK_FALSE(box.start()); // where it led to lacks the files that are mounted
}
