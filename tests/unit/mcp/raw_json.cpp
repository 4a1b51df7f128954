#include <ipybox/core/json_cursor.hpp>
#include <ipybox/mcp/raw_json.hpp>

#include <support/catch.hpp>

#include <string>
#include <utility>

using namespace ipybox;
using namespace ipybox::mcp;

namespace {

std::string copied(std::string_view text) {
    auto const read = raw_json::read(text);
    return read ? read->text() : "<" + read.error().text() + ">";
}

std::string nested(int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

} // namespace

TEST_CASE("raw_json: order and numbers stay as they are written") {
    CHECK(copied(R"({"z":1,"a":{"name":1,"age":-1}})") == R"({"z":1,"a":{"name":1,"age":-1}})");
    CHECK(copied(R"([12345678901234567890123,-18446744073709551617,1.50,1E5,-0,5e-324])") ==
          R"([12345678901234567890123,-18446744073709551617,1.50,1E5,-0,5e-324])");
    CHECK(raw_json::read("18446744073709551615")->rounds_numbers() == false);
    CHECK(raw_json::read("-9223372036854775808")->rounds_numbers() == false);
    CHECK(raw_json::read(R"({"a":[18446744073709551616]})")->rounds_numbers());
    CHECK(raw_json::read("-9223372036854775809")->rounds_numbers());
}

TEST_CASE("raw_json: a number that a value does not keep is known") {
    for (auto const* const kept : {"1e300", "-0.0", "0.1", "1.50", "-1.5E0", "0.000", "0e5", "5e-324", "1e+2", "100.0",
                                   "0.30000000000000004", "1.7976931348623157e308", "123456789012345.6", "0.00001"}) {
        CAPTURE(kept);
        CHECK_FALSE(raw_json::read(kept)->rounds_numbers());
    }
    for (std::string const rounded :
         {"100.0000000000000000001", "0.1000000000000000055511151231257827", "1e-400", "3e-324",
          "1.79769313486231571e308", "1e-99999999999999999999", "0.12345678901234567890", "123456789012345678.5"}) {
        CAPTURE(rounded);
        CHECK(raw_json::read("{\"a\":[0.5," + rounded + ",1]}")->rounds_numbers());
    }
    CHECK(copied("0." + std::string(3998, '1')) == "0." + std::string(3998, '1'));
    CHECK(copied("0." + std::string(3999, '1')) == "<has a number of more than 4000 characters>");
}

TEST_CASE("raw_json: one line without blanks, whatever comes") {
    CHECK(copied(" {\n\t\"a\" : [ 1 ,\r\n true , null ] } \n") == R"({"a":[1,true,null]})");
    CHECK(copied(R"("a\n\u000ab\u2028")") == "\"a\\n\\nb\u2028\"");
    CHECK(copied("[]") == "[]");
    CHECK(copied("{}") == "{}");
}

TEST_CASE("raw_json: text is valid UTF-8 afterwards") {
    CHECK(copied(R"("\ud83d\ude00")") == "\"😀\"");
    CHECK(copied(R"(["\ud800"])") == "[\"\uFFFD\"]");
    CHECK(copied("{\"\xff\":\"\xc3\"}") == "{\"\uFFFD\":\"\uFFFD\"}");
}

TEST_CASE("raw_json: what is not JSON is refused and told") {
    for (auto const* const text : {"", "{", "[1,]", "{\"a\":}", "01", "+1", "1.", ".5", "nul", "\"\\x\"", "\"\n\"",
                                   "[1 2]", "{\"a\" 1}", "-", "1e", "NaN", "{} {}", "{\"a\":1]"}) {
        CAPTURE(text);
        CHECK_FALSE(raw_json::read(text));
    }
    CHECK(copied("1e999") == "<has a number that is not JSON, or too large>");
    CHECK(copied(std::string(4001, '7')) == "<has a number of more than 4000 characters>");
    CHECK(copied(std::string(4000, '7')) == std::string(4000, '7'));
}

TEST_CASE("raw_json: as deep as it is read, and no deeper") {
    CHECK(copied(nested(json_cursor::deepest)) == nested(json_cursor::deepest));
    CHECK(copied(nested(json_cursor::deepest + 1)) == "<is nested too deeply>");
    CHECK(copied(nested(1'000'000)) == "<is nested too deeply>");
}

TEST_CASE("raw_json: two members of the same name") {
    constexpr auto twice = R"({"b":{"path":"/a","path":"/b"}})";
    CHECK(copied(twice) == twice);
    auto const refused = raw_json::read(twice, raw_json::duplicate_names::refused);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::invalid_argument);
    CHECK(refused.error().text() == R"(has the member "path" twice in one object)");
    CHECK_FALSE(raw_json::read(R"({"path":1,"p\u0061th":2})", raw_json::duplicate_names::refused));
    CHECK(raw_json::read(R"([{"path":1},{"path":2}])", raw_json::duplicate_names::refused));
}

TEST_CASE("raw_json: a text that is handed over is kept where it is written as it would be") {
    std::string const long_enough(100, 'x');
    auto const kept = [](std::string text) {
        auto const* const before = text.data();
        auto const read = raw_json::of_text(std::move(text));
        return read && read->text().data() == before;
    };
    CHECK(kept("{\"a\":\"" + long_enough + R"(\n\"\\\t\r\b\f)" + "é😀\",\"b\":[1,null,{}]}"));
    CHECK(kept("[\"" + long_enough + "\"] \n"));
    CHECK_FALSE(kept("[\"" + long_enough + "\", 1]"));
    CHECK_FALSE(kept("[\"" + long_enough + "\",\"\\u00e9\"]"));
    CHECK_FALSE(kept("[\"" + long_enough + "\xc3\"]"));
}

TEST_CASE("raw_json: a text that is handed over is read as any other") {
    for (std::string const text : {" {\n\t\"a\" : [ 1 ,\r\n true , null ] } \n", R"("a\n\u000ab\u2028\/")",
                                   R"("\ud83d\ude00\u00e9")", "{\"\xff\":\"\xc3\"}", "[1,2] ", "[1, 2]", "[\"a\\",
                                   "\"\\\"", "\"\\x\"", "\"a\nb\"", "{} {}", "", R"({"a":18446744073709551616})"}) {
        CAPTURE(text);
        auto const handed = raw_json::of_text(text);
        auto const read = raw_json::read(text);
        REQUIRE(handed.has_value() == read.has_value());
        if (!handed) CHECK(handed.error().text() == read.error().text());
        if (handed) CHECK(handed->text() == read->text());
        if (handed) CHECK(handed->rounds_numbers() == read->rounds_numbers());
    }
    CHECK_FALSE(raw_json::of_text(R"({"path":1,"p\u0061th":2})", raw_json::duplicate_names::refused));
}

TEST_CASE("raw_json: values are built with the order of the text") {
    CHECK(raw_json::read(R"({"z":1,"a":2})")->value().dump() == R"({"z":1,"a":2})");
    CHECK(raw_json::of({{"z", 1}, {"a", 2}})->text() == R"({"z":1,"a":2})");
    CHECK(raw_json::of("\xff").error().text() == "holds text that is not UTF-8");
}
