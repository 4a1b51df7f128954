#include <ipybox/core/hex.hpp>
#include <ipybox/core/random_hex.hpp>

#include <support/catch.hpp>

#include <array>
#include <set>
#include <string>

TEST_CASE("to_hex: two digits for each byte") {
    CHECK(ipybox::to_hex({}).empty());
    std::array<unsigned char, 4> const bytes{0x00, 0x0F, 0xA5, 0xFF};
    CHECK(ipybox::to_hex(bytes) == "000fa5ff");
}

TEST_CASE("random_hex: never twice the same") {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        auto const name = ipybox::random_hex(8);
        CHECK(name.size() == 16);
        CHECK(name.find_first_not_of("0123456789abcdef") == std::string::npos);
        CHECK(seen.insert(name).second);
    }
    CHECK(ipybox::random_hex(0).empty());
    CHECK(ipybox::random_hex(256).size() == 512);
}
