#include <ipybox/sandbox/any_sandbox.hpp>
#include <ipybox/sandbox/bubblewrap_sandbox.hpp>
#include <ipybox/sandbox/no_sandbox.hpp>
#include <ipybox/sandbox/sandbox_policy.hpp>

#include <support/catch.hpp>

#include <memory>
#include <string>
#include <utility>

//! [exemplar]
// Code runs in bubblewrap, and gives way to other programs.
struct low_priority {
    ipybox::result<ipybox::launch_spec> wrap(ipybox::launch_spec spec) const {
        spec.argv.insert(spec.argv.begin(), {"/usr/bin/nice", "-n", "10", "--"});
        // nice(1) is no sandbox. Without this line the code would have all rights of the application.
        return inside.wrap(std::move(spec));
    }

    ipybox::bubblewrap_sandbox inside = {};
};
static_assert(ipybox::sandbox_policy<low_priority>);
//! [exemplar]

namespace {

using ipybox::launch_spec;
using ipybox::result;

launch_spec a_spec() {
    return {.argv = {"/bin/true"},
            .env = {{"A", "1"}},
            .working_dir = "/",
            .writable = {"/w"},
            .readable = {"/r"},
            .control_fd = 7};
}

struct prefix_sandbox {
    std::string word;
    result<launch_spec> wrap(launch_spec spec) const {
        spec.argv.insert(spec.argv.begin(), word);
        return spec;
    }
};

struct move_only_sandbox {
    std::unique_ptr<int> owned;
    result<launch_spec> wrap(launch_spec spec) const { return spec; }
};

struct overloaded_sandbox {
    result<launch_spec> wrap(launch_spec const& spec) const { return spec; }
    result<launch_spec> wrap(launch_spec&& spec) const { return std::move(spec); }
};

struct refusing_sandbox {
    result<launch_spec> wrap(launch_spec) const {
        return ipybox::failure(ipybox::errc::sandbox_unavailable, "not here");
    }
};

struct foreign_jail {
    std::string name;
};

struct nothing {};
struct without_const {
    result<launch_spec> wrap(launch_spec spec) { return spec; }
};
struct without_result {
    launch_spec wrap(launch_spec spec) const { return spec; }
};
struct in_place {
    void wrap(launch_spec&) const {}
};
struct immovable {
    immovable(immovable&&) = delete;
    result<launch_spec> wrap(launch_spec spec) const { return spec; }
};
struct hidden {
  private:
    [[maybe_unused]] result<launch_spec> wrap(launch_spec spec) const { return spec; }
};

} // namespace

template <>
struct ipybox::sandbox_traits<foreign_jail> {
    static result<launch_spec> wrap(foreign_jail const& jail, launch_spec spec) {
        spec.argv.insert(spec.argv.begin(), jail.name);
        return spec;
    }
};

static_assert(ipybox::sandbox_policy<prefix_sandbox>);
static_assert(ipybox::sandbox_policy<move_only_sandbox>);
static_assert(ipybox::sandbox_policy<overloaded_sandbox>);
static_assert(ipybox::sandbox_policy<foreign_jail>);
static_assert(!ipybox::sandbox_policy<nothing>);
static_assert(!ipybox::sandbox_policy<without_const>);
static_assert(!ipybox::sandbox_policy<without_result>);
static_assert(!ipybox::sandbox_policy<in_place>);
static_assert(!ipybox::sandbox_policy<immovable>);
static_assert(!ipybox::sandbox_policy<hidden>);
static_assert(!ipybox::sandbox_policy<int>);
static_assert(std::is_nothrow_copy_constructible_v<ipybox::any_sandbox>);

TEST_CASE("no_sandbox changes nothing") {
    auto const wrapped = ipybox::no_sandbox{}.wrap(a_spec());
    REQUIRE(wrapped);
    CHECK(wrapped->argv == a_spec().argv);
    CHECK(wrapped->env == a_spec().env);
    CHECK(wrapped->working_dir == a_spec().working_dir);
    CHECK(wrapped->control_fd == 7);
}

TEST_CASE("any_sandbox holds any sandbox policy") {
    ipybox::any_sandbox sandbox = prefix_sandbox{"env"};
    CHECK(sandbox.wrap(a_spec())->argv.front() == "env");

    auto const copy = sandbox;
    sandbox = foreign_jail{"jail"};
    CHECK(sandbox.wrap(a_spec())->argv.front() == "jail");
    CHECK(copy.wrap(a_spec())->argv.front() == "env");

    auto const taken = std::move(sandbox);
    CHECK(taken.wrap(a_spec())->argv.front() == "jail");
    CHECK(sandbox.wrap(a_spec())->argv.front() == "jail");

    prefix_sandbox const named{"named"};
    CHECK(ipybox::any_sandbox(named).wrap(a_spec())->argv.front() == "named");
    CHECK(ipybox::any_sandbox(move_only_sandbox{}).wrap(a_spec()));
    CHECK(ipybox::any_sandbox(ipybox::no_sandbox{}).wrap(a_spec())->argv == a_spec().argv);
}

TEST_CASE("any_sandbox passes errors on") {
    auto const wrapped = ipybox::any_sandbox(refusing_sandbox{}).wrap(a_spec());
    REQUIRE_FALSE(wrapped);
    CHECK(wrapped.error() == ipybox::errc::sandbox_unavailable);
    CHECK(wrapped.error() == ipybox::condition::cannot_start);
    CHECK(wrapped.error().text() == "not here");
}
