#include <ipybox/app/middle_cut.hpp>

#include <support/catch.hpp>

#include <string>

namespace {

using namespace ipybox;

std::string shown(std::string_view text, std::size_t most) {
    auto const cut = cut_middle(text, most);
    return std::string(cut.head) + "<" + std::to_string(cut.left_out) + ">" + std::string(cut.tail);
}

TEST_CASE("middle_cut: what fits stays whole") {
    CHECK(shown("", 0) == "<0>");
    CHECK(shown("abc", 3) == "abc<0>");
    CHECK(shown("abc", 100) == "abc<0>");
}

TEST_CASE("middle_cut: both ends stay") {
    CHECK(shown("abcdef", 5) == "abc<1>ef");
    CHECK(shown("abcdef", 4) == "ab<2>ef");
    CHECK(shown("abcdef", 1) == "a<5>");
    CHECK(shown("abcdef", 0) == "<6>");
}

TEST_CASE("middle_cut: the beginning alone stays") {
    CHECK(cut_end("abc", 3).head == "abc");
    CHECK(cut_end("aß€c", 2).head == "aß");
    CHECK(cut_end("aß€c", 2).tail.empty());
    CHECK(cut_end("aß€c", 2).left_out == 2);
}

TEST_CASE("middle_cut: characters count, not bytes, and none is torn apart") {
    CHECK(shown("äöüß", 4) == "äöüß<0>");
    CHECK(shown("äöüß€", 4) == "äö<1>ß€");
    CHECK(shown("€€€", 1) == "€<2>");
}

TEST_CASE("middle_cut: bytes that are no characters do no harm") {
    CHECK(shown("\x80\x80\x80", 0) == "\x80\x80\x80<0>");
    CHECK(cut_middle("a\x80\xffz", 2).left_out == 1);
}

} // namespace
