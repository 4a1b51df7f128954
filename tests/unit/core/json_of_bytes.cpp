#include <ipybox/core/json_of_bytes.hpp>

#include <support/catch.hpp>

#include <nlohmann/json.hpp>

#include <string>

using nlohmann::json;

TEST_CASE("json_of_bytes: what is UTF-8 is written as ever") {
    json const value = {{"text", "é \"quoted\" \n \x01 \U0001F600"},
                        {"list", {1, -2.5, true, nullptr, json::array(), json::object()}},
                        {"é", {{"nested", "x"}}}};
    CHECK(json::parse(ipybox::json_of_bytes(value)) == value);
    CHECK(ipybox::json_of_bytes(json("")) == "\"\"");
    CHECK(ipybox::json_of_bytes(json(7)) == "7");
}

TEST_CASE("json_of_bytes: each byte that is not UTF-8 has its surrogate") {
    CHECK(ipybox::json_of_bytes(json("d\xff")) == R"("d\udcff")");
    CHECK(ipybox::json_of_bytes(json("\x80"
                                     "a\xc3")) == R"("\udc80a\udcc3")");
    CHECK(ipybox::json_of_bytes(json("\xed\xb3\xbf")) == R"("\udced\udcb3\udcbf")"); // a surrogate, as UTF-8 forbids it
    CHECK(ipybox::json_of_bytes(json{{"\xfe", {"\xc0\xaf", "ok"}}}) == R"({"\udcfe":["\udcc0\udcaf","ok"]})");
}
