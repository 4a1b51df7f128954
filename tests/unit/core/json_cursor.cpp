#include <ipybox/core/json_cursor.hpp>

#include <support/catch.hpp>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace ipybox;
using nlohmann::json;
using nlohmann::ordered_json;

std::optional<std::string> string_of(std::string const& text) {
    json_cursor cursor(text);
    auto value = cursor.string();
    if (!cursor.finished()) value.reset();
    return value;
}

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

} // namespace

TEST_CASE("json_cursor: reads what JSON is, as the JSON library does") {
    for (auto const* const text : {"null",
                                   "true",
                                   "false",
                                   "0",
                                   "-0",
                                   "1",
                                   "-1",
                                   "9007199254740993",
                                   "1.5",
                                   "-1.5e3",
                                   "1E-2",
                                   "1e+2",
                                   "0.1",
                                   "18446744073709551615",
                                   "18446744073709551616",
                                   "-9223372036854775808",
                                   "-9223372036854775809",
                                   "1e-400",
                                   "5e-324",
                                   "\"\"",
                                   "\"a\"",
                                   "[]",
                                   "{}",
                                   "[1, 2 ,3]",
                                   R"( {"a" : [ {"b":null} , "c" ] , "d":{} } )",
                                   R"({"a":1,"a":2})",
                                   R"("\u00e9\n\t\"\\\/\b\f\r")",
                                   "\"\\ud83d\\ude00\"",
                                   "\"größe 漢字 😀\""}) {
        CAPTURE(text);
        auto const expected = json::parse(text);
        auto const read = read_json(text);
        REQUIRE(read);
        CHECK(*read == expected);
        CHECK(read->type() == expected.type());
        CHECK(read->dump() == expected.dump());
        auto const skipped = json_cursor(text).skip();
        REQUIRE(skipped);
        CHECK(json::parse(*skipped) == expected);
    }
}

TEST_CASE("json_cursor: refuses what JSON is not") {
    for (auto const* const text :
         {"",        " ",         "nul",         "nulll",    "tru",      "+1",         "01",    "-",          "1.",
          ".5",      "1e",        "1e+",         "0x1",      "NaN",      "Infinity",   "1e999", "'a'",        "\"a",
          "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "[",        "[1",         "[1,",   "[1,]",       "[,1]",
          "[1 2]",   "{",         "{\"a\"",      "{\"a\":",  "{\"a\":1", "{\"a\":1,}", "{a:1}", "{1:1}",      "]",
          "}",       "[}",        "{]",          "1 2",      "{} {}",    "\"a\" b",    "/**/1", "\"\\u-123\""}) {
        CAPTURE(text);
        CHECK_FALSE(read_json(text));
        CHECK_FALSE(read_json<ordered_json>(text));
    }
    CHECK_FALSE(read_json(std::string_view("1\0", 2)));
    CHECK_FALSE(read_json(std::string_view("[1\0]", 4)));
}

TEST_CASE("json_cursor: a text that was cut short anywhere is refused and nothing beyond it read") {
    std::string const whole = R"({"a":[1,2.5,"x\u00e9\ud83d\ude00",true,null],"b":{"c":"größe"}})";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        std::vector<char> const exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        std::string_view const text(exact.data(), exact.size());
        CAPTURE(size);
        CHECK_FALSE(read_json(text));
        CHECK_FALSE(json_cursor(text).skip());
    }
}

TEST_CASE("json_cursor: what is not UTF-8 becomes U+FFFD") {
    std::string const replaced = "\xef\xbf\xbd";
    CHECK(string_of("\"a\xff"
                    "b\"") == "a" + replaced + "b");
    CHECK(string_of("\"\xc3\"") == replaced);
    CHECK(string_of("\"\xc0\x80\"") == replaced + replaced);                // too long
    CHECK(string_of("\"\xed\xa0\x80\"") == replaced + replaced + replaced); // half of a surrogate pair
    CHECK(string_of("\"\xf5\x80\x80\x80\"") == replaced + replaced + replaced + replaced);
    CHECK(string_of("\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9\"") == "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9");
    CHECK(string_of(R"("\ud83d")") == replaced);
    CHECK(string_of(R"("\ude00x")") == replaced + "x");
    CHECK(string_of(R"("\ud83dA")") == replaced + "A");
    CHECK(string_of(R"("\ud83d\n")") == replaced + "\n");
    CHECK(string_of(R"("\ud83d\ud83d\ude00")") == replaced + "\xf0\x9f\x98\x80");
    CHECK(string_of(R"("\u0000")") == std::string(1, '\0'));
}

TEST_CASE("json_cursor: special characters are found wherever they stand in a run") {
    for (std::size_t before = 0; before < 20; ++before)
        for (std::size_t behind = 0; behind < 10; ++behind) {
            auto const around = [&](std::string const& middle) {
                return "\"" + std::string(before, 'x') + middle + std::string(behind, 'y') + "\"";
            };
            auto const expected = [&](std::string const& middle) {
                return std::string(before, 'x') + middle + std::string(behind, 'y');
            };
            CHECK(string_of(around("\\n")) == expected("\n"));
            CHECK(string_of(around("ä")) == expected("ä"));
            CHECK(string_of(around("\\\"")) == expected("\""));
            CHECK(string_of(around("\x7f")) == expected("\x7f"));
            CHECK_FALSE(string_of(around("\n")));
            CHECK_FALSE(string_of(around("\x1f")));
        }
}

TEST_CASE("json_cursor: nesting has a bound, however it is read") {
    CHECK(read_json(nested(json_cursor::deepest)));
    CHECK_FALSE(read_json(nested(json_cursor::deepest + 1)));
    CHECK(json_cursor(nested(json_cursor::deepest)).skip());
    CHECK_FALSE(json_cursor(nested(json_cursor::deepest + 1)).skip());
    CHECK_FALSE(read_json(nested(1'000'000)));
    CHECK_FALSE(json_cursor(std::string(1'000'000, '{')).skip());

    // What is passed over inside counts with what it is in.
    auto const text = "{\"a\":" + nested(json_cursor::deepest) + "}";
    json_cursor cursor(text);
    CHECK_FALSE(cursor.object([&](std::string const&) { return cursor.skip().has_value(); }));
    CHECK(cursor.failed());
}

TEST_CASE("json_cursor: an ordered object keeps the order, and both of what occurs twice") {
    auto const read = read_json<ordered_json>(R"({"z":1,"a":{"y":2,"b":3},"z":4})");
    REQUIRE(read);
    CHECK(read->dump() == R"({"z":1,"a":{"y":2,"b":3},"z":4})");
}

TEST_CASE("json_cursor: an object with very many members takes no quadratic time", "[large]") {
    std::string text = "{";
    for (int i = 0; i < 300'000; ++i) text.append(i ? "," : "").append("\"k").append(std::to_string(i)).append("\":1");
    text += "}";
    CHECK(read_json<ordered_json>(text)->size() == 300'000);
    CHECK(read_json(text)->size() == 300'000);
}

TEST_CASE("json_cursor: takes objects and arrays apart") {
    std::string const text = R"({"first":{"deep":[1,"]}",{"\"":"{"}]},"second":["a","b"],"third":3} rest)";
    json_cursor cursor(text);
    std::string_view first;
    std::vector<std::string> second;
    bool const read = cursor.object([&](std::string const& name) {
        if (name == "second")
            return cursor.array([&] {
                auto element = cursor.string();
                if (element) second.push_back(*element);
                return element.has_value();
            });
        auto const value = cursor.skip();
        if (value && name == "first") first = *value;
        return value.has_value();
    });
    CHECK(read);
    CHECK(first == R"({"deep":[1,"]}",{"\"":"{"}]})");
    CHECK(second == std::vector<std::string>{"a", "b"});
    CHECK_FALSE(cursor.finished()); // "rest"
}

TEST_CASE("json_cursor: mutated texts are read as the JSON library reads them") {
    std::string const seed =
        R"({"a":[1,-2.5e3,"x\u00e9\ud83d\ude00\\",true,null,{}],"b":{"c":"plain text of some length"},"d":[[],0]})";
    std::mt19937 random(20260728);
    std::string const alphabet = "\"\\{}[]:,0123456789.eE+-untrfals \t\x01u";
    int accepted = 0;
    for (int round = 0; round < 40'000; ++round) {
        auto text = seed;
        for (auto changes = 1 + random() % 3; changes > 0; --changes) {
            auto const at = random() % text.size();
            switch (random() % 3) {
            case 0: text[at] = alphabet[random() % alphabet.size()]; break;
            case 1: text.erase(at, 1 + random() % 4); break;
            default: text.insert(at, 1, alphabet[random() % alphabet.size()]);
            }
            if (text.empty()) text = " ";
        }
        auto const expected = json::parse(text, nullptr, false);
        auto const read = read_json(text);
        // Halves of surrogate pairs are the one thing that is taken where the library refuses.
        if (expected.is_discarded() && read && text.find("\\ud") != std::string::npos) continue;
        CAPTURE(text);
        REQUIRE(read.has_value() == !expected.is_discarded());
        if (!read) continue;
        ++accepted;
        REQUIRE(*read == expected);
        auto const skipped = json_cursor(text).skip();
        REQUIRE(skipped);
        REQUIRE(read_json(*skipped) == expected);
    }
    CHECK(accepted > 1'000);
}
