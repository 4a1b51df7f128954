#include <ipybox/app/diagnose.hpp>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/python.hpp"
#include "support/scratch_dir.hpp"

/** \file
 * A diagnosis of this machine, with real kernels.
 */

namespace {

using namespace std::chrono_literals;
using namespace ipybox;
using namespace ipybox::test;

finding check(diagnosis const& d, std::string const& name) {
    for (auto const& group : d.groups)
        for (auto const& f : group.findings)
            if (f.name == name) return f;
    FAIL("nothing was found out about " << name);
    return {};
}

diagnose_options without_sandbox(scratch_dir const& dir) {
    return {.sandbox = "none", .python = python(), .working_dir = dir.path()};
}

} // namespace

TEST_CASE("diagnose: a kernel runs a cell that tells the versions") {
    scratch_dir const dir;
    auto const found = diagnose(without_sandbox(dir));
    CHECK(found.readiness() == readiness::ready);
    CHECK(check(found, "none").elapsed > 0ms);
    CHECK(check(found, "interpreter").version.starts_with("3."));
    CHECK(check(found, "ipykernel").state == finding_state::works);
    CHECK(check(found, "working").path == dir.path());
}

TEST_CASE("diagnose: a kernel that never starts is given up in its bound, and named") {
    scratch_dir const dir;
    auto options = without_sandbox(dir);
    options.kernel_bound = 1ms; // no kernel does
    auto const begin = std::chrono::steady_clock::now();
    auto const found = diagnose(options);
    CHECK(std::chrono::steady_clock::now() - begin < 60s);
    CHECK(found.readiness() == readiness::no_kernel);
    CHECK(check(found, "none").state == finding_state::fails);
    CHECK(contains(check(found, "none").gap, "1 ms"));
    CHECK(check(found, "interpreter").state == finding_state::works);
    CHECK(check(found, "ipykernel").state == finding_state::untried);
}

TEST_CASE("diagnose: what is left when it is stopped is untried") {
    scratch_dir const dir;
    std::stop_source stop;
    stop.request_stop();
    auto const found = diagnose(without_sandbox(dir), stop.get_token());
    CHECK(check(found, "none").state == finding_state::untried);
    CHECK(found.readiness() == readiness::no_kernel);
}

TEST_CASE("diagnose: best needs bubblewrap, or Landlock where that does not work") {
    scratch_dir const dir;
    auto options = without_sandbox(dir);
    options.sandbox = "best";
    auto const found = diagnose(options);
    auto const bubblewrap = check(found, "bubblewrap");
    auto const landlock = check(found, "landlock");
    CHECK(bubblewrap.needed != landlock.needed);
    CHECK(landlock.needed == (bubblewrap.state != finding_state::works && landlock.state == finding_state::works));
    CHECK_FALSE(check(found, "none").needed);
}
