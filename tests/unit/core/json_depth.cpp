#include <ipybox/core/json_depth.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>

using ipybox::nests_deeper_than;
using nlohmann::json;
using nlohmann::ordered_json;

TEST_CASE("json_depth: arrays and objects are levels, what is in them is none") {
    CHECK_FALSE(nests_deeper_than(0, json(1)));
    for (auto const* one : {"[]", "{}", "[1, 2]", R"({"a": null})"}) {
        CHECK(nests_deeper_than(0, json::parse(one)));
        CHECK_FALSE(nests_deeper_than(1, json::parse(one)));
    }
    auto const three = ordered_json::parse(R"([[], {"a": [1]}, 2])");
    CHECK(nests_deeper_than(2, three));
    CHECK_FALSE(nests_deeper_than(3, three));
}

TEST_CASE("json_depth: what is too deep for recursion is found without it") {
    auto const abyss = json::parse(std::string(300'000, '[') + std::string(300'000, ']'));
    CHECK(nests_deeper_than(299'999, abyss));
    CHECK_FALSE(nests_deeper_than(300'000, abyss));
}
