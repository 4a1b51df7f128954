#include <ipybox/codegen/python_literal.hpp>

#include <string>

#include "support/catch.hpp"

using namespace ipybox::codegen;
using nlohmann::ordered_json;

TEST_CASE("python_literal: texts") {
    CHECK(string_literal("") == R"("")");
    CHECK(string_literal("a 'b' \"c\" \\ \n\t\r") == R"("a 'b' \"c\" \\ \n\t\x0d")");
    CHECK(string_literal(std::string("\0\x1f\x7f", 3)) == R"("\x00\x1f\x7f")");
    CHECK(string_literal("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\x8D") == "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\x8D\"");
}

TEST_CASE("python_literal: what cannot be seen is an escape") {
    CHECK(string_literal("\xC2\x85") == R"("\x85")"); // next line
    CHECK(string_literal("\xE2\x80\xAE"
                         "x") == R"("\u202ex")"); // right-to-left override
    CHECK(string_literal("\xE2\x80\x8B\xE2\x80\xA8") == R"("\u200b\u2028")");
    CHECK(string_literal("\xEF\xBB\xBF") == R"("\ufeff")");
    CHECK(string_literal("\xF3\xA0\x81\x81") == R"("\U000e0041")"); // a tag
    CHECK(docstring("a\xE2\x80\xAE"
                    "b",
                    "") == "\"\"\"a\\u202eb\"\"\"");
}

TEST_CASE("python_literal: bytes that are no UTF-8") {
    auto const replaced = std::string("\xEF\xBF\xBD");
    CHECK(valid_utf8("a\xFFz") == "a" + replaced + "z");
    CHECK(valid_utf8("\xC0\xAF") == replaced + replaced);                // could be shorter
    CHECK(valid_utf8("\xED\xA0\x80") == replaced + replaced + replaced); // a surrogate
    CHECK(valid_utf8("\xF5\x80") == replaced + replaced);                // beyond Unicode
    CHECK(valid_utf8("\xE2\x82") == replaced);                           // cut off
    CHECK(valid_utf8("\xF0\x9F\x90\x8D\xE2\x82\xAC") == "\xF0\x9F\x90\x8D\xE2\x82\xAC");
    CHECK(string_literal("\xFF") == "\"" + replaced + "\"");
}

TEST_CASE("python_literal: values") {
    CHECK(value_literal(ordered_json::parse(R"({"b": [1, 2.5, true, null], "a": {"": false}})")) ==
          R"({"b": [1, 2.5, True, None], "a": {"": False}})");
    CHECK(value_literal(1.0) == "1");
    CHECK(value_literal(-0.1) == "-0.1");
    CHECK(value_literal(1e300) == "1e+300");
    CHECK(value_literal(18446744073709551615u) == "18446744073709551615");
    CHECK(value_literal(ordered_json::array()) == "[]");
    CHECK(value_literal(ordered_json::object()) == "{}");
}

TEST_CASE("python_literal: docstrings") {
    CHECK(docstring("Text.", "    ") == "\"\"\"Text.\"\"\"");
    CHECK(docstring("  Text.\n\n", "    ") == "\"\"\"Text.\"\"\"");
    CHECK(docstring("One\r\n    two\r\n      three\r\n\r\n    four", "  ") ==
          "\"\"\"One\n  two\n    three\n\n  four\n  \"\"\"");
    CHECK(docstring("a\tb", "") == "\"\"\"a       b\"\"\"");
    CHECK(docstring("", "") == "\"\"\"\"\"\"");
}

TEST_CASE("python_literal: nothing ends a docstring but its end") {
    CHECK(docstring(R"(""")", "") == "\"\"\"\\\"\\\"\\\"\"\"\"");
    CHECK(docstring(R"(says "why")", "") == "\"\"\"says \"why\\\"\"\"\"");
    CHECK(docstring("a \\", "") == "\"\"\"a \\\\\"\"\"");
    CHECK(docstring("\"\"\"\nimport os", "") == "\"\"\"\\\"\\\"\"\nimport os\n\"\"\"");
    CHECK(docstring("\\N{DIGIT ONE} \\x41", "") == "\"\"\"\\\\N{DIGIT ONE} \\\\x41\"\"\"");
}

TEST_CASE("python_literal: one line") {
    CHECK(one_line("  a \n\n b\tc  ") == "a b c");
    CHECK(one_line(" \n") == "");
}
