#include <ipybox/core/base64.hpp>

#include <support/catch.hpp>

#include <random>
#include <string>
#include <string_view>
#include <utility>

using ipybox::base64_decode;
using ipybox::base64_encode;

TEST_CASE("base64: the vectors of RFC 4648, section 10") {
    std::pair<char const*, char const*> const vectors[] = {{"", ""},
                                                           {"f", "Zg=="},
                                                           {"fo", "Zm8="},
                                                           {"foo", "Zm9v"},
                                                           {"foob", "Zm9vYg=="},
                                                           {"fooba", "Zm9vYmE="},
                                                           {"foobar", "Zm9vYmFy"}};
    for (auto const& [bytes, text] : vectors) {
        CHECK(base64_encode(bytes) == text);
        CHECK(base64_decode(text) == bytes);
    }
}

TEST_CASE("base64: all bytes, all lengths") {
    std::string bytes;
    for (int length = 0; length < 600; ++length) {
        auto const text = base64_encode(bytes);
        REQUIRE(text.size() == (bytes.size() + 2) / 3 * 4);
        REQUIRE(base64_decode(text) == bytes);
        bytes.push_back(static_cast<char>(length));
    }
    CHECK(base64_decode("+/+/") == "\xfb\xff\xbf");
}

TEST_CASE("base64: white space is passed over, wherever it stands") {
    CHECK(base64_decode("Zm9v\nYmFy\n") == "foobar");
    CHECK(base64_decode(" \tZ m\r\n9v Yg = =\n") == "foob");
    CHECK(base64_decode(" \n\t\r") == "");
}

TEST_CASE("base64: what is none") {
    for (std::string_view const text :
         {"Z", "Zg", "Zg=", "Zm9vY", "====", "=", "==", "Z===", "=Zg=", "Zg==Zg==", "Zm=v", "Zm9v=Zg=", "Zm9!", "Zm9-",
          "Zm9_", "Zm9\v", "Zm\xc3\xa4", "hello, world", "Zm9v\\n"}) {
        CAPTURE(text);
        CHECK(base64_decode(text) == std::nullopt);
    }
    CHECK(base64_decode(std::string_view("Zm9\0", 4)) == std::nullopt);
    CHECK(base64_decode(std::string_view("\0\0\0\0", 4)) == std::nullopt);
}

TEST_CASE("base64: 12 MB, in one and in lines") {
    std::mt19937 random(12);
    std::string bytes(12'000'001, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    auto text = base64_encode(bytes);
    CHECK((base64_decode(text) == bytes));

    std::string lines;
    for (std::size_t at = 0; at < text.size(); at += 76) lines.append(text, at, 76).append("\n");
    CHECK((base64_decode(lines) == bytes));

    text[text.size() - 9] = '*'; // in the last of the parts that it is decoded in
    CHECK(base64_decode(text) == std::nullopt);
}
