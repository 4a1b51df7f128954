#include <ipybox/session/output_text.hpp>
#include <ipybox/session/terminal_line.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/files.hpp>
#include <support/scratch_dir.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace {

using namespace ipybox;
using ipybox::detail::output_text;
using ipybox::detail::terminal_line;
using ipybox::test::scratch_dir;

/// What a terminal shows of a text that comes in pieces of this size.
std::string shown(std::string_view text, std::size_t piece) {
    terminal_line terminal;
    std::string all;
    std::size_t line = 0;
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
        (void)terminal.add(all, line, 0, text.substr(0, piece));
    return all;
}

output_text text_within(std::size_t bound, std::filesystem::path const& dir) {
    detail::output_places::settings const where{dir, dir, dir, detail::spilled_files::kept};
    return {bound, std::make_shared<detail::output_places>(where),
            std::make_shared<detail::file_budget>(1, std::uint64_t(1) << 30)};
}

} // namespace

TEST_CASE("terminal_line: what a terminal shows, however the text is cut") {
    struct example {
        std::string_view printed, shown;
    };
    for (auto const& [printed, wanted] : {
             example{"plain\ntext", "plain\ntext"},
             {"a\r\nb\r\n", "a\nb\n"},
             {" 0%\r10%\r100%\n", "100%\n"},
             {"\r1 of 2\r2 of 2\ndone\n", "2 of 2\ndone\n"},
             {"abcdef\rxy", "xycdef"},
             {"abcdef\rxy\n!", "xycdef\n!"},
             {"abcdef\rxy\x1b[K\n", "xy\n"},
             {"abcdef\x1b[2K\rxy\n", "xy\n"},
             {"abc\x1b[1K\rx\n", "x  \n"},
             {"abc\bX\n", "abX\n"},
             {"abc\b\b\b\b\bX\n", "Xbc\n"},
             {"abc\b \b\n", "ab \n"},
             {"\x1b[31mred\x1b[0m and \x1b[1;38;5;200mbold\x1b[m", "red and bold"},
             {"\x1b]0;title\atext \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"},
             {"\x1b]never ended\nbut here\n", "\nbut here\n"},
             {"\x1b(Btext\x1b=more\x1b\x1b[1mx", "textmorex"},
             {"ab\x1b[3Cc\n", "ab   c\n"},
             {"abcdef\x1b[2Gx\x1b[2Dy\n", "yxcdef\n"},
             {"a\r\x1b[2Cb\n", "a b\n"},
             {"\xc3\xa4\xc3\xb6\xc3\xbc\rab\n", "ab\xc3\xbc\n"},
             {"abc\r\xe2\x96\x88\xe2\x96\x88\n", "\xe2\x96\x88\xe2\x96\x88"
                                                 "c\n"},
             {"two\nlines\r\x1b[1Ax\n", "two\nxines\n"},
         })
        for (std::size_t const piece : {1000, 1, 2, 3, 5}) {
            // Between two characters: kernels cut nowhere else.
            if (piece < 1000 && printed.find_first_of("\xc3\xe2") != printed.npos) continue;
            CAPTURE(printed, piece);
            CHECK(shown(printed, piece) == wanted);
        }
}

TEST_CASE("terminal_line: a bar of a million updates is one line, in linear time and bounded memory") {
    scratch_dir const dir;
    auto out = text_within(std::size_t(1) << 20, dir.path());
    for (int i = 0; i < 1'000'000; ++i)
        out.append("\r" + std::to_string(i) + " of 1000000 [####################----------]");
    out.append("\ndone\n");
    CHECK(out.memory() < std::size_t(1) << 16);
    CHECK(out.spill_file().empty());
    CHECK(out.take() == "999999 of 1000000 [####################----------]\ndone");
}

TEST_CASE("output_text: it says whether something was replaced") {
    scratch_dir const dir;
    auto out = text_within(1000, dir.path());
    CHECK_FALSE(out.append("\r 0%"));
    CHECK(out.append("\r10%"));
    CHECK_FALSE(out.append("\r\nnext"));
    CHECK_FALSE(out.append("\x1b[1m line"));
    CHECK(out.append("\rx"));
    CHECK(out.take() == "10%\nxext line");
}

TEST_CASE("output_text: what readers know of a line stays, and it is continued on a new one") {
    scratch_dir const dir;
    auto out = text_within(1000, dir.path());
    out.append("first\n 0%");
    auto const before = out.between(0, 1000);
    CHECK(before.text == "first\n 0%");
    out.append("\r10%");
    out.append("\r20%");
    auto const behind = out.between(before.to, 1000);
    CHECK(behind.from == before.to);
    CHECK(behind.text == "\n20%");
    out.append("\r30%\n");
    CHECK(out.between(behind.to, 1000).text == "\n30%\n");
    CHECK(out.between(0, 1000).text == "first\n 0%\n20%\n30%\n");
    CHECK(out.take() == "first\n 0%\n20%\n30%");
}

TEST_CASE("output_text: files and tails have lines as they are in the end") {
    scratch_dir const dir;
    auto out = text_within(1000, dir.path());
    for (int i = 0; i < 10'000; ++i) out.append("\rstep " + std::to_string(i % 10) + (i % 10 == 9 ? "\n" : ""));
    auto const file = out.spill_file();
    out.finish();
    auto const text = test::read_file(file);
    std::string wanted;
    for (int i = 0; i < 1000; ++i) wanted += "step 9\n";
    CHECK(text == wanted);
    CHECK(out.memory() < 10'000);

    auto long_line = text_within(100, dir.path());
    long_line.append(std::string(5000, 'x'));
    long_line.append("\ry\n");
    CHECK(long_line.take().ends_with("x\ny"));
}
