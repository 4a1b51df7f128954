#include <ipybox/session/kernel_link.hpp>
#include <ipybox/session/session_settings.hpp>

#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {

using namespace ipybox;
using test::contains;

} // namespace

TEST_CASE("session_settings: a path that the system would cut at a NUL byte is refused") {
    std::filesystem::path const cut(std::string("/tmp/a\0b", 8));
    executor_options in_sandbox;
    in_sandbox.sandbox.hidden = {"/tmp/c", cut};
    executor_options in_output;
    in_output.output.spill_dir = cut;
    for (auto const& options : {in_sandbox, in_output}) {
        auto const allowed =
            detail::session_settings(options, os::host_programs::now()).allows(detail::transport_facts());
        REQUIRE_FALSE(allowed);
        CHECK(allowed.error() == errc::invalid_argument);
        CHECK(contains(allowed.error().text(), "has a NUL byte in it, behind /tmp/a"));
    }
    CHECK(detail::session_settings(executor_options(), os::host_programs::now()).allows(detail::transport_facts()));
}
