#include <ipybox/core/ansi.hpp>

#include <support/catch.hpp>

#include <random>
#include <string>

using ipybox::strip_ansi;

TEST_CASE("strip_ansi: text without sequences stays as it is") {
    CHECK(strip_ansi("") == "");
    CHECK(strip_ansi("plain [31m text ]0; \a") == "plain [31m text ]0; \a");
    CHECK(strip_ansi("n\xc3\xa4h\tr\r\n") == "n\xc3\xa4h\tr\r\n");
    CHECK(strip_ansi(std::string("a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("strip_ansi: control sequences") {
    CHECK(strip_ansi("\x1b[31mred\x1b[0m") == "red");
    CHECK(strip_ansi("\x1b[1;38;5;124mZeroDivisionError\x1b[39m: x") == "ZeroDivisionError: x");
    CHECK(strip_ansi("a\x1b[2Jb\x1b[?25lc\x1b[10;20Hd\x1b[ qe") == "abcde");
    CHECK(strip_ansi("\x1b[mx\x1b[Ky") == "xy");
    CHECK(strip_ansi("\x1b[0;31m\x1b[1m\x1b[0m") == "");
}

TEST_CASE("strip_ansi: operating system commands") {
    CHECK(strip_ansi("\x1b]0;title\ax") == "x");
    CHECK(strip_ansi("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\!") == "link!");
    CHECK(strip_ansi("\x1b]0;cut off by another\x1b[31mred") == "red");
}

TEST_CASE("strip_ansi: other control strings") {
    CHECK(strip_ansi("a\033Pq#0~\033\\b") == "ab");
    CHECK(strip_ansi("a\033_Gf=100;AAAA\033\\b") == "ab");
}

TEST_CASE("strip_ansi: short escapes") {
    CHECK(strip_ansi("a\0337b\0338c\033=d") == "abcd");
    CHECK(strip_ansi("\033(B\033[mplain") == "plain"); // what `tput sgr0` writes
    CHECK(strip_ansi("a\033 Fb") == "ab");
}

TEST_CASE("strip_ansi: what cannot belong to a sequence stays") {
    CHECK(strip_ansi("\033\xc3\xa4") == "\xc3\xa4");
    CHECK(strip_ansi("\033[1;\xc3\xa4") == "\xc3\xa4");
    CHECK(strip_ansi("\033[31\nx") == "\nx");
    CHECK(strip_ansi("\033\033[31mred") == "red");
    CHECK(strip_ansi("\033[3\033[31mred") == "red");
}

TEST_CASE("strip_ansi: truncated sequences end the text") {
    CHECK(strip_ansi("a\x1b") == "a");
    CHECK(strip_ansi("a\x1b[") == "a");
    CHECK(strip_ansi("a\x1b[38;5") == "a");
    CHECK(strip_ansi("a\x1b]0;title") == "a");
    CHECK(strip_ansi("a\x1b]0;title\x1b") == "a");
    CHECK(strip_ansi("a\x1b\x1b") == "a");
}

TEST_CASE("strip_ansi: nothing is invented, and nothing is left to strip") {
    std::mt19937 random(7);
    std::string const alphabet = "ab[];0m\a\\\x1b\x1b";
    for (int round = 0; round < 20'000; ++round) {
        std::string text(random() % 24, '\0');
        for (auto& c : text) c = alphabet[random() % alphabet.size()];
        auto const plain = strip_ansi(text);
        CAPTURE(text, plain);
        REQUIRE(plain.size() <= text.size());
        REQUIRE(plain.find('\x1b') == std::string::npos);
    }
}
