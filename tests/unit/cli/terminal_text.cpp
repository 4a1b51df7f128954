#include <support/catch.hpp>

#include <cli/terminal_text.hpp>

#include <random>
#include <string>
#include <string_view>

namespace {

std::string filtered(std::string_view text) { return ipybox::cli::terminal_text()(text); }

} // namespace

TEST_CASE("terminal_text: text and colours pass") {
    for (std::string_view const text :
         {"", "a b\n\ttab\r100%\b\a", "caf\u00e9 \u65e5\u672c \U0001f600 e\u0301", "\x1b[31mred\x1b[0m", "\x1b[m",
          "\x1b[1;38;5;200mx\x1b[38:2::1:2:3m", "\r\x1b[K50%", "\x1b[2K"}) {
        CAPTURE(text);
        CHECK(filtered(text) == text);
    }
}

TEST_CASE("terminal_text: all other sequences are left out, with what is in them") {
    for (std::string_view const sequence : {"\x1b[2J",
                                            "\x1b[H",
                                            "\x1b[5A",
                                            "\x1b[1;1H",
                                            "\x1b[?7l",
                                            "\x1b[3;4r",
                                            "\x1b[?1049h",
                                            "\x1b[>4;2m",
                                            "\x1b[?1m",
                                            "\x1b[1 m",
                                            "\x1b[0\"q",
                                            "\x1b]0;title\x07",
                                            "\x1b]8;;https://x\x1b\\",
                                            "\x1bPq#0\x1b\\",
                                            "\x1b_x\x1b\\",
                                            "\x1b^x\x1b\\",
                                            "\x1bXx\x1b\\",
                                            "\x1b]0;x\u009c",
                                            "\x1b(0",
                                            "\x1b)0\x0e",
                                            "\x1b#8",
                                            "\x1b"
                                            "7",
                                            "\x1b"
                                            "8",
                                            "\x1bM",
                                            "\x1b"
                                            "c",
                                            "\x1b[\x18",
                                            "\x1b]x\x18",
                                            "\x1b]x\x1a",
                                            "\x0f",
                                            "\x0b",
                                            "\x0c",
                                            "\x05",
                                            "\x7f",
                                            "\u0085",
                                            "\u009b2J",
                                            "\u009d0;t\u009c",
                                            "\u0090x\x1b\\",
                                            "\x1b\x1b[2J",
                                            "\x1b]0;a\x1b[5A"}) {
        CAPTURE(sequence);
        CHECK(filtered(std::string("a").append(sequence) + "b") == "ab");
    }
    CHECK(filtered("\x1b[" + std::string(1000, '1') + "mx") == "x");
    CHECK(filtered("\x1b]0;never ended\nnext") == "\nnext");
    CHECK(filtered("a\x1b[3\nb") == "a\nb"); // a line end is not a part of a sequence
    CHECK(filtered("\u009b31mred") == "\x1b[31mred");
    CHECK(filtered("a\xff\xc0\x80"
                   "b\xed\xa0\x80") == "a\ufffd\ufffd\ufffdb\ufffd\ufffd\ufffd");
}

TEST_CASE("terminal_text: it makes no difference in how many pieces the text comes") {
    std::mt19937 random(1);
    constexpr std::string_view pieces[] = {"a",        "\x1b",   "[",    "3",  ";",  "m",      "K",
                                           "J",        "]0;",    "\x07", "\\", "\n", "\u00e9", "\U0001f600",
                                           "\xe2\x80", "\u009b", "\xc2", "P",  "?",  " ",      "\x18"};
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto count = random() % 14; count > 0; --count) text += pieces[random() % std::size(pieces)];
        text += "\n.";
        ipybox::cli::terminal_text filter;
        std::string in_pieces;
        for (char const& byte : text) in_pieces += filter({&byte, 1});
        CAPTURE(text);
        REQUIRE(in_pieces == filtered(text));
        // What comes out has no other sequences in it, and filtering it once more changes nothing.
        REQUIRE(filtered(in_pieces) == in_pieces);
    }
}
