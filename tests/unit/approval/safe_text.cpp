#include <ipybox/approval/safe_text.hpp>
#include <ipybox/core/utf8.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/subjects.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

namespace {

using ipybox::approval_subject;
using ipybox::safe_text;
using ipybox::test::contains;
using ipybox::test::tool_subject;
using nlohmann::json;

approval_subject command(std::string line) {
    return {.kind = approval_subject::action::shell, .argv = {"/bin/sh", "-c", std::move(line)}, .cwd = "/work"};
}

/// All of the text, without margins and rows that say what is left out.
std::string joined(safe_text const& shown) {
    std::string all;
    for (auto const& row : shown.rows) all += row.substr(2);
    return all;
}

} // namespace

TEST_CASE("safe_text: words are written as in a shell, and spelled out in C quotes") {
    CHECK(safe_text::word("a/b.c") == "a/b.c");
    CHECK(safe_text::word("") == "''");
    CHECK(safe_text::word("a b") == "'a b'");
    CHECK(safe_text::word("it's") == R"('it'\''s')");
    CHECK(safe_text::word(R"(a\nb)") == R"('a\nb')"); // a backslash
    CHECK(safe_text::word("a\nb") == R"($'a\nb')");   // a line end
    CHECK(safe_text::word("a\n\\n'b") == R"($'a\n\\n\'b')");
    CHECK(safe_text::word("a\xff\u00ff") == "$'a\\xff\u00ff'");
    CHECK(safe_text::word("caf\u00e9 \u65e5\u672c \u0431") == "'caf\u00e9 \u65e5\u672c \u0431'");
}

TEST_CASE("safe_text: what is not plainly visible is spelled out") {
    for (auto const* const text :
         {"\u00a0",     "\u2000",     "\u2003",     "\u200a",     "\u202f",     "\u205f",
          "\u3000",     "\u2800",     "\u3164",     "\u115f",     "\u1160",     "\uffa0", // blanks
          "\u180b",     "\u180e",     "\u180f",     "\u034f",     "\u17b4",     "\u17b5",
          "\ufe00",     "\ufe0f",     "\ufff9",     "\ufffb",     "\U0001d173", "\U0001d17a",
          "\u200b",     "\u2060",     "\ufeff",     "\u00ad",     "\u061c", // invisible
          "\u0300",     "\u0336",     "\u036f",     "\u20d0",     "\u3099",     "\u0e31",
          "\u0941",     "\U0001f3fb", "\U0001f1e6", // join what is before
          "\u05d0",     "\u0627",     "\u07c1",     "\ufb1d",     "\ufe8d",     "\U00010800",
          "\U0001e900",                                                                   // right to left
          "\u202a",     "\u202e",     "\u2066",     "\u2069",     "\u200e",     "\u200f", // directions
          "\ue000",     "\uf8ff",     "\U000f0000", "\U0010fffd", "\ufdd0",     "\uffff",
          "\U000e0041", "\u0378", // private, none
          "\x01",       "\x1b",       "\x7f",       "\u0085",     "\u009b",     "\u2028",
          "\t",         "\r",         "\u2502",     "\u2503",     "\u2588"}) { // would look like a frame
        CAPTURE(text);
        auto const word = safe_text::word(std::string("a") + text + "b");
        CHECK(word.starts_with("$'a\\"));
        CHECK(std::all_of(word.begin(), word.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    }
    CHECK(contains(safe_text::of(tool_subject("s", "t", {{"q", "\u202e\x7f\u0336"}})).text(),
                   R"({"q":"\u202e\x7f\u0336"})"));
}

TEST_CASE("safe_text: blanks in a row are counted") {
    CHECK(safe_text::word("a        b") == "'a        b'"); // eight
    CHECK(safe_text::word("a         b") == R"($'a\x20{9}b')");
    CHECK(safe_text::word("a" + std::string(1900, ' ') + "\\x20{9}") == R"($'a\x20{1900}\\x20{9}')");
    CHECK(contains(safe_text::of(tool_subject("s", "t", {{"q", std::string(100, ' ')}})).text(), R"("\x20{100}")"));
}

TEST_CASE("safe_text: rows have a margin and are never wider than the screen") {
    auto const shown = safe_text::of(command("echo " + std::string(100, 'x')), {.columns = 40});
    REQUIRE(shown.rows.size() == 4);
    CHECK(shown.rows[0] == "| shell command /bin/sh -c 'echo xxxxxx");
    for (auto const& row : shown.rows) CHECK((row.starts_with("| ") && row.size() < 40));
    CHECK(joined(shown) == safe_text::of(command("echo " + std::string(100, 'x'))).text());
    CHECK(shown.characters == joined(shown).size());
    CHECK(shown.left_out == 0);
    // Any other letter may be drawn twice as wide; what is spelled stays together.
    for (auto const& row :
         safe_text::of(command(std::string("\u65e5\u0431\n\u202e") + std::string(3, '\n')), {.columns = 20}).rows) {
        CAPTURE(row);
        auto const wide =
            std::count_if(row.begin(), row.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xC0; });
        auto const bytes = std::count_if(row.begin(), row.end(), [](char c) { return (c & 0xC0) != 0x80; });
        CHECK(bytes + wide < 20);
    }
    CHECK(safe_text::of(command("ls"), {.columns = 1}).rows.size() > 1); // no endless loop
}

TEST_CASE("safe_text: for markup, characters that begin a tag or a reference of HTML are spelled out") {
    auto const word = [](std::string_view text) { return safe_text::word(text, safe_text::front_end::markup); };
    for (auto const* const text :
         {"<a", "<EOF", "</a", "<!--", "<?x", "&#60;", "&#x3c", "&lt;", "&lt", "&copy=1", "&Any;"})
        CHECK(contains(word(text), text[0] == '<' ? "$'\\x3c" : "$'\\x26"));
    for (auto const* const text : {"a < b", "<< EOF", "<1", "a && b", "?a=1&b=2", "&", "<", "&;", "a&&page=1"})
        CHECK(word(text) == "'" + std::string(text) + "'");
    CHECK(safe_text::word("<a>&lt;") == "'<a>&lt;'"); // on a terminal they are what they are
}

TEST_CASE("safe_text: of a long text head and tail are shown, and how much is left out") {
    std::string line = "HEAD";
    for (int i = 0; i < 100'000; ++i) line += char('a' + i % 26);
    auto const shown = safe_text::of(command(line + "TAIL"), {.columns = 80, .rows = 12});
    REQUIRE(shown.rows.size() == 12);
    CHECK(contains(shown.rows.front(), "-c HEAD"));
    CHECK(contains(shown.rows.back() + shown.rows[10], "TAIL"));
    CHECK(shown.rows[8] == "... " + std::to_string(shown.left_out / 1000) + "," +
                               std::to_string(1000 + shown.left_out % 1000).substr(1) +
                               " of 100,044 characters are left out ...");
    std::size_t of_rows = 0;
    for (auto const& row : shown.rows)
        if (row.starts_with("| ")) of_rows += row.size() - 2;
    CHECK(of_rows + shown.left_out == shown.characters);
    CHECK(safe_text::of(command(line), {.columns = 80}).left_out == 0);
    CHECK(safe_text::of(command(std::string(600, 'x')), {.columns = 80, .rows = 12}).left_out == 0);
}

TEST_CASE("safe_text: a title is short and has the name") {
    CHECK(safe_text::title(command("x")) == "shell command /bin/sh");
    CHECK(safe_text::title(tool_subject("pay", "send\n")) == R"(tool call pay.$'send\n')");
    CHECK(safe_text::title({.kind = approval_subject::action::shell, .argv = {std::string(1000, 'x')}}) ==
          "shell command " + std::string(40, 'x') + "...");
}

TEST_CASE("safe_text: random text is complete, plain and in its rows, and two texts never look alike") {
    // Other texts: IPYBOX_TEST_SEED=2 unit_approval 'safe_text: random*'
    auto const* const given = std::getenv("IPYBOX_TEST_SEED");
    auto const seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device()();
    INFO("IPYBOX_TEST_SEED=" << seed);
    std::mt19937 random(seed);
    auto const text = [&random] {
        static constexpr auto pieces =
            std::to_array<std::string_view>({"a",        " ",  "  ",     "         ", "'",      "\\",   "\\n",    "\n",
                                             "\\x20{9}", "$'", "\x1b[A", "\u202e",    "\u0301", "\xff", "\u65e5", "| ",
                                             "x20{9}",   "{",  "n",      "\u00a0",    "\t",     "...",  "'\\''"});
        std::string made;
        for (auto count = random() % 12; count > 0; --count) made += pieces[random() % pieces.size()];
        return made;
    };
    for (int i = 0; i < 20'000; ++i) {
        auto const a = text();
        auto const b = text();
        INFO(safe_text::word(a) << " " << safe_text::word(b));
        REQUIRE((safe_text::word(a) == safe_text::word(b)) == (a == b));
        safe_text::options const options{.columns = 12 + random() % 40, .rows = random() % 6};
        auto const shown = safe_text::of(command(a), options);
        auto const whole = safe_text::of(command(a)).text();
        REQUIRE(shown.characters >= shown.left_out);
        if (shown.left_out == 0) REQUIRE(joined(shown) == whole);
        for (auto const& row : shown.rows) {
            REQUIRE((row.starts_with("| ") || (row.starts_with("... ") && shown.left_out > 0)));
            REQUIRE(ipybox::is_utf8(row));
            REQUIRE(std::none_of(row.begin(), row.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }));
        }
    }
}
