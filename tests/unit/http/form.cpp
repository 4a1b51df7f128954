#include <ipybox/http/form.hpp>

#include <support/catch.hpp>

#include <string>

using ipybox::http::fields;
using ipybox::http::parse_form;
using ipybox::http::percent_encoded;
using ipybox::http::write_form;

TEST_CASE("form: written and read") {
    fields const values{{"a b", "x&y=z"}, {"u", "\xc3\xbc+%"}, {"empty", ""}};
    auto const text = write_form(values);
    CHECK(text == "a%20b=x%26y%3Dz&u=%C3%BC%2B%25&empty=");
    CHECK(parse_form(text).all() == values.all());
    CHECK(percent_encoded("-._~aZ9") == "-._~aZ9");
    CHECK(percent_encoded("\r\n\"") == "%0D%0A%22");
}

TEST_CASE("form: texts of others") {
    auto const read = parse_form("&&a=1+2&b&=c&d=%zz%4&a=3&");
    CHECK(read.find("a") == "1 2");
    CHECK(read.find_all("a").size() == 2);
    CHECK(read.find("b").empty());
    CHECK(read.find("") == "c");
    CHECK(read.find("d") == "%zz%4");
    CHECK(parse_form("").all().empty());
}
