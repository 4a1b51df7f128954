#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/json_writer.hpp>

#include <support/catch.hpp>

#include <limits>
#include <string>
#include <utility>

namespace {

using namespace ipybox;
using namespace ipybox::mcp;
using nlohmann::json;

json nested_value(int levels) {
    json value = 1;
    for (int level = 0; level < levels; ++level)
        value = level % 2 == 0 ? json::array({std::move(value)}) : json::object({{"a", std::move(value)}});
    return value;
}

} // namespace

TEST_CASE("json_writer: the text that the JSON library writes") {
    for (auto const& value :
         {json(), json(true), json(false), json(0), json(-7), json(std::numeric_limits<std::uint64_t>::max()),
          json(std::numeric_limits<std::int64_t>::min()), json(0.1), json(-2.5e300), json(1.0),
          json(std::numeric_limits<double>::quiet_NaN()), json(""), json("plain"), json::array(), json::object(),
          json::parse(R"({"z":[1,[],{}],"a":{"b":null,"":"x"},"größe \\ \"":["\u2028","😀"]})")})
        CHECK(write_json(value) == value.dump());
}

TEST_CASE("json_writer: every character, at every place of a string") {
    std::string all;
    for (char c = 0; c < 0x7f; ++c) all.push_back(c);
    all.append("\x7f é ߿ ࠀ \uffff \U00010000 \U0010ffff");
    CHECK(write_json(all) == json(all).dump());
    for (std::string const special : {"\"", "\\", "\n", "\x01", "\x1f", "é", "😀", "\x7f"})
        for (std::size_t before = 0; before < 20; ++before) {
            auto const text = std::string(before, 'x') + special + std::string(20 - before, 'y') + special;
            CHECK(write_json(text) == json(text).dump());
        }
    CHECK(write_json(std::string("a\0b", 3)) == R"("a\u0000b")");
}

TEST_CASE("json_writer: what is not UTF-8, as a value or as a name") {
    for (auto const* const text :
         {"\x80", "\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98"})
        for (auto const& value : {json(text), json::array({std::string(30, 'x') + text}), json::object({{text, 1}})}) {
            auto const written = write_json(value);
            REQUIRE_FALSE(written);
            CHECK(written.error() == errc::invalid_argument);
            CHECK(written.error().text() == "holds text that is not UTF-8");
        }
}

TEST_CASE("json_writer: what a parser discarded") {
    auto const discarded = nlohmann::ordered_json::parse("{", nullptr, false);
    REQUIRE(discarded.is_discarded());
    for (auto const& value : {discarded, nlohmann::ordered_json::array({1, discarded})}) {
        auto const written = write_json(value);
        REQUIRE_FALSE(written);
        CHECK(written.error() == errc::invalid_argument);
        CHECK(written.error().text().starts_with("holds a discarded value"));
    }
}

TEST_CASE("json_writer: as deep as it is read, and no deeper") {
    auto const deep = nested_value(json_cursor::deepest);
    auto const written = write_json(deep);
    REQUIRE(written);
    CHECK(read_json(*written) == deep);
    CHECK(write_json(nested_value(json_cursor::deepest + 1)).error().text() == "is nested too deeply");
    CHECK_FALSE(write_json(nlohmann::ordered_json::parse(std::string(100'000, '[') + std::string(100'000, ']'))));
    auto const wide = json::array({nested_value(json_cursor::deepest - 1), nested_value(json_cursor::deepest - 1)});
    CHECK(write_json(wide) == wide.dump());
}
