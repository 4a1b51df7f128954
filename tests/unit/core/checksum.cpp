#include <ipybox/core/checksum.hpp>

#include <support/catch.hpp>

using ipybox::checksum;

TEST_CASE("checksum: FNV-1a of 64 bits") {
    // draft-eastlake-fnv, appendix C
    CHECK(checksum("") == "cbf29ce484222325");
    CHECK(checksum("a") == "af63dc4c8601ec8c");
    CHECK(checksum("foobar") == "85944171f73967e8");
    CHECK(checksum("\xff") != checksum("\x7f"));
}
