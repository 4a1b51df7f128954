#include <ipybox/core/utf8.hpp>

#include <support/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

using ipybox::find_invalid_utf8;
using ipybox::first_character;
using ipybox::is_utf8;

namespace {

/// By the table of RFC 3629, section 3, also what may not be written.
std::string encoded(char32_t code) {
    auto const byte = [](char32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
    auto const tail = [&](int shift) { return byte(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) return {byte(code)};
    if (code < 0x800) return {byte(0xC0 | code >> 6), tail(0)};
    if (code < 0x10000) return {byte(0xE0 | code >> 12), tail(6), tail(0)};
    return {byte(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

/// The sizes of the parts that a text is read in.
std::vector<std::size_t> parts(std::string_view text) {
    std::vector<std::size_t> sizes;
    while (!text.empty()) {
        sizes.push_back(first_character(text).bytes.size());
        text.remove_prefix(sizes.back());
    }
    return sizes;
}

} // namespace

TEST_CASE("utf8: every code point but surrogates, and none above") {
    std::string wrong;
    for (char32_t code = 0; code < 0x200000; ++code) {
        auto const text = encoded(code);
        auto const followed = text + "x";
        auto const c = first_character(followed);
        bool const expected = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        bool const read = c.valid && c.code == code && c.bytes == text;
        bool const refused = !c.valid && c.code == 0xFFFD && c.bytes.size() == 1;
        if (!(expected ? read : refused)) wrong = std::to_string(static_cast<unsigned>(code));
        if (!wrong.empty()) break;
    }
    CHECK(wrong.empty());
}

TEST_CASE("utf8: the beginning of a character is one part (Unicode 15, tables 3-8 to 3-11)") {
    using sizes = std::vector<std::size_t>;
    CHECK(parts("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") == sizes(9, 1));
    CHECK(parts("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") == sizes(9, 1));
    CHECK(parts("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") == sizes(9, 1));
    CHECK(parts("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == sizes{2, 1, 3, 2, 1});
    CHECK(parts("\xE2\x82") == sizes{2});
    CHECK(parts("\xF0\x9F\x98") == sizes{3});
}

TEST_CASE("utf8: valid text is told from what is not") {
    auto const all_well = std::string::npos;
    CHECK(find_invalid_utf8("") == all_well);
    CHECK(find_invalid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F") == all_well);
    CHECK(find_invalid_utf8("\xEF\xBF\xBF\xF4\x8F\xBF\xBF") == all_well);
    CHECK(find_invalid_utf8("ab\x80") == 2);
    CHECK(find_invalid_utf8("a\xC3") == 1);
    CHECK(find_invalid_utf8("\xC3(") == 0);
    CHECK(find_invalid_utf8("\xC0\xAF") == 0);         // overlong
    CHECK(find_invalid_utf8("\xE0\x80\xAF") == 0);     // overlong
    CHECK(find_invalid_utf8("\xF0\x80\x80\xAF") == 0); // overlong
    CHECK(find_invalid_utf8("\xED\xA0\x80") == 0);     // surrogate
    CHECK(find_invalid_utf8("\xF4\x90\x80\x80") == 0); // above U+10FFFF
    CHECK(find_invalid_utf8("\xFF") == 0);
    CHECK(is_utf8(""));
    CHECK(is_utf8(std::string_view("a\0é", 4)));
    CHECK_FALSE(is_utf8("é\xC3"));
}

TEST_CASE("utf8: the first byte that is wrong is found wherever it is") {
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            std::string text(size, 'x');
            text[at] = '\xFF';
            CHECK(find_invalid_utf8(text) == at);
            text.replace(at, 1, "\xC3\xA9");
            CHECK(is_utf8(text));
            text.back() = '\x80';
            CHECK(find_invalid_utf8(text) == (at + 1 == size ? std::string_view::npos : size));
        }
        CHECK(is_utf8(std::string(size, '\x7F')));
    }
    static_assert(find_invalid_utf8("as in constants, \xFF too") == 17);
}
