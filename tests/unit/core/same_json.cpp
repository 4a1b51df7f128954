#include <ipybox/core/same_json.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using nlohmann::json;

} // namespace

TEST_CASE("same_json: numbers are compared by value, whatever they are stored as") {
    using ipybox::detail::same_json;
    CHECK(same_json(json(1), json(1u)));
    CHECK(same_json(json(1), json(1.0)));
    CHECK(same_json(json(0.0), json(-0.0)));
    CHECK_FALSE(same_json(json(-1), json(std::numeric_limits<std::uint64_t>::max())));
    CHECK_FALSE(same_json(json((std::int64_t(1) << 53) + 1), json(std::ldexp(1.0, 53))));
    CHECK_FALSE(same_json(json(std::numeric_limits<std::uint64_t>::max()), json(std::ldexp(1.0, 64))));
    CHECK_FALSE(same_json(json(1), json(true)));
    CHECK_FALSE(same_json(json(1), json("1")));
    CHECK_FALSE(same_json(json(std::nan("")), json(std::nan(""))));
    CHECK(same_json(json::parse(R"({"a":[1,{"b":null}],"c":"d"})"), json::parse(R"({"c":"d","a":[1.0,{"b":null}]})")));
    CHECK_FALSE(same_json(json::parse(R"({"a":1})"), json::parse(R"({"a":1,"b":null})")));
    CHECK_FALSE(same_json(json::parse("[1,2]"), json::parse("[2,1]")));
}

TEST_CASE("same_json: the order in which members were given does not count") {
    using ipybox::detail::same_json;
    auto const ordered = [](char const* text) { return nlohmann::ordered_json::parse(text); };
    CHECK(same_json(ordered(R"({"a":[1,{"b":null}],"c":"d"})"), ordered(R"({"c":"d","a":[1.0,{"b":null}]})")));
    CHECK_FALSE(same_json(ordered(R"({"a":1})"), ordered(R"({"b":1})")));
    CHECK_FALSE(same_json(ordered(R"({"a":1})"), ordered(R"({"a":1,"b":null})")));
    CHECK_FALSE(same_json(ordered(R"({"a":{"b":1}})"), ordered(R"({"a":{"b":2}})")));
    CHECK_FALSE(same_json(ordered("-1"), ordered("18446744073709551615")));
    CHECK_FALSE(same_json(ordered("[1,2]"), ordered("[2,1]")));
}

TEST_CASE("compare_numbers: agrees with long double, which holds them all") {
    std::mt19937_64 random(2);
    auto const number = [&random]() -> json {
        auto const bits = random() >> random() % 64;
        switch (random() % 4) {
        case 0: return bits;
        case 1: return -static_cast<std::int64_t>(bits >> 1);
        case 2: return static_cast<double>(bits);
        default: return static_cast<double>(static_cast<std::int64_t>(bits)) / 4;
        }
    };
    auto const exact = [](json const& n) -> long double {
        if (n.is_number_float()) return n.get<double>();
        return n.is_number_unsigned() ? static_cast<long double>(n.get<std::uint64_t>())
                                      : static_cast<long double>(n.get<std::int64_t>());
    };
    static_assert(std::numeric_limits<long double>::digits >= 64);
    for (int i = 0; i < 100'000; ++i) {
        auto const a = number();
        auto const b = i % 3 == 0 ? json(a.get<double>()) : number();
        CAPTURE(a.dump(), b.dump());
        REQUIRE((ipybox::detail::compare_numbers(a, b) == (exact(a) <=> exact(b))));
    }
}
