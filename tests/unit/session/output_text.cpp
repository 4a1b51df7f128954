#include <ipybox/core/utf8.hpp>
#include <ipybox/session/output_text.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ipybox;
using ipybox::detail::output_text;
using ipybox::test::contains;
using ipybox::test::scratch_dir;

/// Text within a bound, beyond which it goes to a file of this directory.
output_text text_of(std::size_t bound, std::filesystem::path const& dir, std::uint64_t max_spill = 1 << 30) {
    detail::output_places::settings const where{dir, dir, dir, detail::spilled_files::kept};
    return {bound, std::make_shared<detail::output_places>(where), std::make_shared<detail::file_budget>(1, max_spill)};
}

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

} // namespace

TEST_CASE("output_text: within its bound, without blank lines and white space at the ends") {
    scratch_dir const dir;
    auto out = text_of(100, dir.path());
    out.append(" \n");
    out.append("a b\n");
    out.append("c\t\r\n\f\v");
    CHECK(out.take() == "a b\nc");
    CHECK(out.spill_file().empty());
    CHECK_FALSE(out.failure());

    auto blank = text_of(100, dir.path());
    blank.append(" \n\t");
    CHECK(blank.take().empty());
    CHECK(text_of(100, dir.path()).take().empty());
}

TEST_CASE("output_text: the first line keeps its indentation") {
    scratch_dir const dir;
    auto const taken = [&](std::string const& text) {
        auto out = text_of(std::size_t(1) << 20, dir.path());
        out.append(text);
        return out.take();
    };
    CHECK(taken("   a  b\n0  1  3\n") == "   a  b\n0  1  3");
    CHECK(taken(" \n\t\r\n  a\nb") == "  a\nb");
    CHECK(taken("\r  50%") == "  50%");
    CHECK(taken(std::string(10000, '\n') + "  a") == "  a");
    CHECK(taken(std::string(10000, ' ') + "\n a" + std::string(10000, ' ')) == " a");
    CHECK(taken("\n" + std::string(10000, ' ') + "a") == std::string(10000, ' ') + "a");
}

TEST_CASE("output_text: up to the bound there is no file") {
    scratch_dir const dir;
    auto out = text_of(100, dir.path());
    for (int i = 0; i < 10; ++i) out.append("0123456789");
    CHECK(out.take() == repeated("0123456789", 10));
    CHECK(out.spill_file().empty());
    CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("output_text: beyond it head and tail stay, and the whole is in a file") {
    for (std::size_t const piece : {1U, 7U, 50U, 99U, 101U, 1000U}) {
        CAPTURE(piece);
        scratch_dir const dir;
        auto out = text_of(100, dir.path());
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
    auto out = text_of(10, dir.path());
    out.append("0123456789");
    CHECK(out.spill_file().empty());
    out.append("x");
    auto const file = out.spill_file();
    auto const text = out.take();
    CHECK(test::read_file(file) == "0123456789x");
    CHECK(text.starts_with("01234"));
    CHECK(text.ends_with("6789x"));
    CHECK(contains(text, "1 bytes left out"));
}

TEST_CASE("output_text: is cut between characters") {
    for (auto const* character : {"ä", "€", "🐍"}) {
        for (std::size_t bound = 0; bound < 40; ++bound) {
            scratch_dir const dir;
            auto out = text_of(bound, dir.path());
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
    auto out = text_of(1000, dir.path());
    std::string const garbage(700, '\x80'); // nowhere does a character begin
    for (int i = 0; i < 1000; ++i) out.append(garbage);
    CHECK(std::filesystem::file_size(out.spill_file()) == 700'000);
    CHECK(out.take().size() < 1000 + 300);

    std::mt19937 random(3);
    auto mixed = text_of(64, dir.path());
    std::string whole;
    for (int i = 0; i < 2000; ++i) {
        std::string piece(random() % 40, '\0');
        for (auto& c : piece) {
            c = static_cast<char>(random());
            if (c == '\r' || c == '\b' || c == '\x1b') c = '?'; // what moves in a line
        }
        mixed.append(piece);
        whole += piece;
    }
    mixed.finish();
    CHECK((test::read_file(mixed.spill_file()) == whole));
    CHECK(mixed.take().size() < 64 + 300);
}

TEST_CASE("output_text: a file that cannot be made is told, the text is bounded all the same") {
    scratch_dir const dir;
    auto const in_the_way = dir.write("file", "");
    auto out = text_of(10, in_the_way);
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
    auto out = text_of(100, dir.path());
    out.append("gone");
    out.clear();
    out.append("there");
    CHECK(out.take() == "there");

    auto large = text_of(10, dir.path());
    large.append(repeated("gone ", 100));
    large.clear();
    large.append("there");
    CHECK(contains(test::read_file(large.spill_file()), "there")); // the file goes on
    CHECK(large.take() == "there");
}

TEST_CASE("output_text: the file is full at its bound, and says so beyond it") {
    scratch_dir const dir;
    auto whole = text_of(10, dir.path(), 100);
    whole.append(std::string(100, 'x'));
    CHECK(contains(whole.take(), "the whole output is in"));
    CHECK(std::filesystem::file_size(whole.spill_file()) == 100);

    auto more = text_of(10, dir.path(), 100);
    more.append(std::string(60, 'a'));
    more.append(std::string(41, 'b'));
    more.append("end");
    auto const text = more.take();
    CHECK(contains(text, "the beginning of the output is in"));
    CHECK(text.ends_with("bbend"));
    CHECK_FALSE(more.failure());
    CHECK(test::read_file(more.spill_file()) == std::string(60, 'a') + std::string(40, 'b'));
}

TEST_CASE("output_text: a file is written in slices, and nothing is left out before it is written") {
    scratch_dir const dir;
    auto const slice = output_text::slice;
    auto out = text_of(8 * slice, dir.path());
    auto const whole = repeated("0123456789abcdef", slice / 2) + "x"; // 8 slices and a byte
    out.append(whole);
    std::size_t slices = 1; // `append` has written the first one
    for (bool more = true; more; ++slices) {
        CHECK(std::filesystem::file_size(out.spill_file()) == slices * slice);
        more = out.write_some();
    }
    CHECK(slices == 9);
    CHECK(test::read_file(out.spill_file()) == whole);
    CHECK(contains(out.take(), "[… 1 bytes left out"));
}

TEST_CASE("output_text: endless text takes little more memory than the bound") {
    scratch_dir const dir;
    std::size_t const bound = 8 * output_text::slice;
    auto out = text_of(bound, dir.path());
    std::string const piece(3'000'000, 'x');
    for (int i = 0; i < 40; ++i) {
        out.append(piece);
        while (out.write_some()) {}
        CHECK(out.memory() <= bound + bound / 8 + output_text::slice);
    }
    CHECK(std::filesystem::file_size(out.spill_file()) == 40 * piece.size());
}

TEST_CASE("output_text: long text gets its room once, and is not moved as it grows") {
    scratch_dir const dir;
    auto out = text_of(16 * output_text::slice, dir.path());
    std::string const piece(std::size_t{2} << 20, 'x');
    for (int i = 0; i < 9; ++i) out.append(piece);
    auto const room = out.memory();
    for (int i = 0; i < 40; ++i) {
        out.append(piece);
        CHECK(out.memory() == room);
        while (out.write_some()) {}
    }
}

TEST_CASE("output_text: short text takes little room") {
    scratch_dir const dir;
    auto out = text_of(8 * output_text::slice, dir.path());
    out.append(std::string(100'000, 'x'));
    CHECK(out.memory() < 200'000);
}

TEST_CASE("output_text: any part of what is kept, wherever it is cut") {
    scratch_dir const dir;
    std::mt19937 random(7);
    for (std::size_t const bound : {10U, 50U, 200U}) {
        auto out = text_of(bound, dir.path());
        std::string whole;
        for (int i = 0; i < 60; ++i) {
            std::string const piece =
                std::vector<std::string>{"a", "ä", "€", "😀", "line\n", "0123456789"}[random() % 6];
            out.append(piece);
            whole += piece;
            auto const from = random() % (whole.size() + 3);
            auto const to = from + random() % (whole.size() + 3);
            auto const part = out.between(from, to);
            CAPTURE(bound, whole, from, to, part.text);
            CHECK(part.end == whole.size());
            CHECK(part.from <= std::min<std::uint64_t>(from, whole.size()));
            CHECK(part.from + 3 >= std::min<std::uint64_t>(from, whole.size()));
            CHECK(part.to <= std::max(part.from, std::min<std::uint64_t>(to, whole.size())));
            CHECK(is_utf8(part.text));
            if (part.left_out == 0)
                CHECK(part.text == whole.substr(part.from, part.to - part.from));
            else
                CHECK(contains(part.text, " bytes left out"));
        }
    }
}

TEST_CASE("output_text: is read in pieces, none of which holds up the one that writes") {
    scratch_dir const dir;
    auto out = text_of(std::size_t(64) << 20, dir.path());
    std::string whole;
    while (whole.size() < (std::size_t(5) << 19))
        whole += "€ and more\n"; // 2.5 MiB, whose pieces end within a character
    out.append(whole);
    auto const all = out.between(0, ~std::uint64_t(0));
    CHECK(all.text == whole);
    CHECK(all.to == whole.size());
}

TEST_CASE("output_text: read by others while it is written", "[tsan]") {
    scratch_dir const dir;
    auto out = text_of(4096, dir.path());
    std::string const line = "0123456789äöü€\n";
    std::atomic<bool> over = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> readers;
    for (int t = 0; t < 4; ++t)
        readers.emplace_back([&] {
            std::uint64_t at = 0;
            while (!over) {
                auto const part = out.between(at, ~std::uint64_t(0));
                if (part.from < at || part.to > part.end || !is_utf8(part.text)) ++wrong;
                at = part.to;
                (void)out.text();
            }
        });
    for (int i = 0; i < 20'000; ++i) {
        out.append(line);
        if (i % 5000 == 4999) out.clear();
    }
    out.append("end");
    out.finish();
    over = true;
    for (auto& t : readers) t.join();
    CHECK(wrong == 0);
    CHECK(out.text() == "end");
    CHECK(out.between(0, ~std::uint64_t(0)).from == 20'000 * line.size());
}

TEST_CASE("output_text: closed, it keeps what is in memory") {
    scratch_dir const dir;
    auto out = text_of(10, dir.path());
    out.append(std::string(100, 'x'));
    out.close();
    CHECK(out.between(0, 1000).left_out > 0);
    CHECK(out.text().size() > 10);
    auto finished = text_of(10, dir.path());
    finished.append(" 0123456789 ");
    finished.finish();
    auto const text = finished.text();
    CHECK(text == finished.take());
}
