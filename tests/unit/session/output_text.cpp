#include <ipybox/core/utf8.hpp>
#include <ipybox/session/output_text.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <filesystem>
#include <random>
#include <string>

namespace {

using ipybox::detail::output_text;
using ipybox::test::contains;
using ipybox::test::scratch_dir;

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

} // namespace

TEST_CASE("output_text: within its bound, without white space at the ends") {
    scratch_dir const dir;
    output_text out(100, dir.path());
    out.append(" \n");
    out.append("a b\n");
    out.append("c\t\r\n\f\v");
    CHECK(out.take() == "a b\nc");
    CHECK(out.spill_file().empty());
    CHECK_FALSE(out.failure());

    output_text blank(100, dir.path());
    blank.append(" \n\t");
    CHECK(blank.take().empty());
    CHECK(output_text(100, dir.path()).take().empty());
}

TEST_CASE("output_text: up to the bound there is no file") {
    scratch_dir const dir;
    output_text out(100, dir.path());
    for (int i = 0; i < 10; ++i) out.append("0123456789");
    CHECK(out.take() == repeated("0123456789", 10));
    CHECK(out.spill_file().empty());
    CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("output_text: beyond it head and tail stay, and the whole is in a file") {
    for (std::size_t const piece : {1U, 7U, 50U, 99U, 101U, 1000U}) {
        CAPTURE(piece);
        scratch_dir const dir;
        output_text out(100, dir.path());
        std::string whole;
        for (int i = 0; whole.size() < 3000; ++i) whole += std::to_string(i) + ",";
        for (std::size_t at = 0; at < whole.size(); at += piece) out.append(std::string_view(whole).substr(at, piece));
        REQUIRE_FALSE(out.spill_file().empty());
        auto const file = out.spill_file();
        auto const text = out.take();
        CHECK(test::read_file(file) == whole);
        CHECK(file.parent_path() == dir.path());
        CHECK(text.starts_with(whole.substr(0, 50) + "\n[… "));
        CHECK(text.ends_with("…]\n" + whole.substr(whole.size() - 50)));
        CHECK(contains(text, std::to_string(whole.size() - 100) + " bytes left out; the whole output is in " +
                                 file.string()));
        CHECK_FALSE(out.failure());
    }
}

TEST_CASE("output_text: one byte beyond") {
    scratch_dir const dir;
    output_text out(10, dir.path());
    out.append("0123456789");
    CHECK(out.spill_file().empty());
    out.append("x");
    CHECK(test::read_file(out.spill_file()) == "0123456789x");
    auto const text = out.take();
    CHECK(text.starts_with("01234"));
    CHECK(text.ends_with("6789x"));
    CHECK(contains(text, "1 bytes left out"));
}

TEST_CASE("output_text: is cut between characters") {
    for (auto const* character : {"ä", "€", "🐍"}) {
        for (std::size_t bound = 0; bound < 40; ++bound) {
            scratch_dir const dir;
            output_text out(bound, dir.path());
            std::string whole;
            for (int i = 0; i < 30; ++i) {
                out.append(character);
                whole += character;
                if (i % 3 == 0) {
                    out.append("x");
                    whole += "x";
                }
            }
            auto const file = out.spill_file();
            auto const text = out.take();
            CAPTURE(character, bound, text);
            REQUIRE(ipybox::is_utf8(text));
            REQUIRE(test::read_file(file) == whole);
        }
    }
}

TEST_CASE("output_text: bytes that are no text are bounded too") {
    scratch_dir const dir;
    output_text out(1000, dir.path());
    std::string const garbage(700, '\x80'); // nowhere does a character begin
    for (int i = 0; i < 1000; ++i) out.append(garbage);
    CHECK(std::filesystem::file_size(out.spill_file()) == 700'000);
    CHECK(out.take().size() < 1000 + 300);

    std::mt19937 random(3);
    output_text mixed(64, dir.path());
    std::string whole;
    for (int i = 0; i < 2000; ++i) {
        std::string piece(random() % 40, '\0');
        for (auto& c : piece) c = static_cast<char>(random());
        mixed.append(piece);
        whole += piece;
    }
    CHECK((test::read_file(mixed.spill_file()) == whole));
    CHECK(mixed.take().size() < 64 + 300);
}

TEST_CASE("output_text: a file that cannot be made is told, the text is bounded all the same") {
    scratch_dir const dir;
    auto const in_the_way = dir.write("file", "");
    output_text out(10, in_the_way);
    out.append(std::string(1000, 'x'));
    out.append(std::string(1000, 'y'));
    REQUIRE(out.failure());
    CHECK(*out.failure() == ipybox::errc::io_error);
    CHECK(out.spill_file().empty());
    auto const text = out.take();
    CHECK(text.starts_with("xxxxx\n[… 1990 bytes left out …]"));
    CHECK(text.ends_with("yyyyy"));
}

TEST_CASE("output_text: cleared, it begins anew") {
    scratch_dir const dir;
    output_text out(100, dir.path());
    out.append("gone");
    out.clear();
    out.append("there");
    CHECK(out.take() == "there");

    output_text large(10, dir.path());
    large.append(repeated("gone ", 100));
    large.clear();
    large.append("there");
    CHECK(contains(test::read_file(large.spill_file()), "there")); // the file goes on
    CHECK(large.take() == "there");
}
