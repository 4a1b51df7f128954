#include <ipybox/core/json_census.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <random>
#include <string>

using namespace ipybox;

namespace {

constexpr ipybox::detail::json_bounds wide{std::size_t(1) << 30, std::size_t(1) << 30, 1'000'000};

std::size_t values_in(std::string_view text) {
    auto const census = ipybox::detail::count_json(text, wide);
    CHECK(census.excess == ipybox::detail::json_excess::none);
    return census.values;
}

/// Names and values, counted in what the JSON library makes of it.
std::size_t truth(nlohmann::json const& value) {
    std::size_t count = 1;
    for (auto const& element : value.is_structured() ? value : nlohmann::json::array())
        count += truth(element) + (value.is_object() ? 1 : 0);
    return count;
}

nlohmann::json random_value(std::mt19937& random, int depth) {
    switch (random() % (depth > 0 ? 6 : 4)) {
    case 0: return static_cast<int>(random() % 1000);
    case 1: return nullptr;
    case 2: {
        std::string text;
        for (auto left = random() % 80; left > 0; --left) text += "\"\\[]{},:a\n"[random() % 10];
        return text;
    }
    case 3: return 0.5;
    case 4: {
        auto list = nlohmann::json::array();
        for (auto left = random() % 6; left > 0; --left) list.push_back(random_value(random, depth - 1));
        return list;
    }
    default: {
        auto object = nlohmann::json::object();
        for (auto left = random() % 6; left > 0; --left)
            object["\"k\\," + std::to_string(random())] = random_value(random, depth - 1);
        return object;
    }
    }
}

} // namespace

TEST_CASE("ipybox::detail::json_census: values and names are counted, strings are not looked into") {
    CHECK(values_in("1") == 1);
    CHECK(values_in(R"("[,:{")") == 1);
    CHECK(values_in(R"("\"[,")") == 1);
    CHECK(values_in(R"(["\\",1])") == 3);
    CHECK(values_in(R"({"a":{"b":[1,2]}})") == 7);
    for (std::size_t length = 0; length < 100; ++length) { // ends near and far
        CHECK(values_in("[\"" + std::string(length, 'x') + "\\\",\",1]") == 3);
        CHECK(values_in("[\"" + std::string(length, '\\') + std::string(length % 2, '\\') + "\",1]") == 3);
    }
}

TEST_CASE("ipybox::detail::json_census: never less than there is") {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        auto const value = random_value(random, 5);
        auto const text = value.dump(static_cast<int>(random() % 3) - 1);
        auto const counted = values_in(text);
        REQUIRE(counted >= truth(value));
        REQUIRE(counted <= 2 * truth(value)); // empty containers count twice
    }
}

TEST_CASE("ipybox::detail::json_census: each bound, and one more") {
    ipybox::detail::json_bounds const bounds{100, 10, 4};
    auto const excess = [&](std::string const& text) { return ipybox::detail::count_json(text, bounds).excess; };
    CHECK(excess('"' + std::string(98, 'x') + '"') == ipybox::detail::json_excess::none);
    CHECK(excess('"' + std::string(99, 'x') + '"') == ipybox::detail::json_excess::bytes);
    CHECK(excess("[1,2,3,4,5,6,7,8]") == ipybox::detail::json_excess::none);
    CHECK(excess("[1,2,3,4,5,6,7,8,9,10]") == ipybox::detail::json_excess::values);
    CHECK(excess("[[[[]]]]") == ipybox::detail::json_excess::none);
    CHECK(excess("[[[[[]]]]]") == ipybox::detail::json_excess::depth);
    CHECK(excess(R"([[],[],{"a":[]}])") == ipybox::detail::json_excess::none);
}

TEST_CASE("ipybox::detail::json_census: what is cut short or no JSON is counted to its end") {
    std::string const text = R"({"a\"b":["c\\",{"d":1}],"long":"0123456789012345678901234567890123456789\\\""})";
    for (std::size_t size = 0; size <= text.size(); ++size)
        CHECK(ipybox::detail::count_json(std::string_view(text).substr(0, size), wide).values <= values_in(text));
    CHECK(values_in("]]]}}}[") == 2);
    CHECK(values_in(std::string("\0,\0", 3)) == 2);
}
