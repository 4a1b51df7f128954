#include <ipybox/mcp/first_words.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <string>
#include <string_view>

namespace {

using namespace ipybox;
using mcp::detail::first_words;
using test::contains;

std::string const an_answer = R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}})";
std::string const a_pretty_one = "{\n  \"result\": {\n    \"a\": 1\n  },\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1\n}";

/// What a watch knows when these bytes came.
first_words after(std::string_view bytes) {
    first_words words;
    for (auto end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
        auto line = bytes.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        words.on_line(line);
        bytes.remove_prefix(end + 1);
    }
    words.on_rest(bytes);
    return words;
}

std::string in_utf16(std::string_view text) {
    std::string wide = "\xFF\xFE";
    for (char const c : text) wide.append({c, '\0'});
    return wide;
}

} // namespace

TEST_CASE("first_words: bytes that can be nothing else than another framing are named") {
    auto const length = std::to_string(an_answer.size());
    for (auto const& [bytes, says] : {
             std::pair{"Content-Length: " + length + "\r\n\r\n" + an_answer, "puts `Content-Length:` before"},
             {"content-length:" + length + "\r\nContent-Type: application/json\r\n\r\n" + an_answer,
              "`Content-Length:`"},
             {"Content-Length: 3000\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"res", "`Content-Length:`"},
             {a_pretty_one, "writes its messages over several lines"},
             {"starting\n" + a_pretty_one + "\n", "over several lines"},
             {"Ok to proceed? (y) " + an_answer + "\n", "behind other text on the same line"},
             {"\x1b[2K\r" + an_answer + "\n", "behind other text"},
             {"data: " + an_answer + "\n\n", "behind other text"},
             {an_answer, "does not end the lines of its messages"},
             {an_answer + "\r", "does not end the lines of its messages"},
             {in_utf16(an_answer + "\n"), "writes its messages in UTF-16"},
         }) {
        CAPTURE(bytes);
        auto const words = after(bytes);
        CHECK_FALSE(words.over());
        CHECK(contains(words.fault(), says));
        CHECK(contains(words.fault(), "each line is one message in UTF-8"));
    }
}

TEST_CASE("first_words: banners, prompts and logs are nothing but text") {
    for (std::string const bytes :
         {"", "Server v1.0 ready\nhttps://example.org\n", "{\"level\":\"info\"}\n[1,2]\nnull\n", "Starting... ",
          "Ok to proceed? (y) ", "{\n  \"port\": 3000\n}\n", "Content-Length: 12\nis what this server does not write\n",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu", "{\n  \"jsonrpc\": \"2.0\",\n",
          "received {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n"}) {
        CAPTURE(bytes);
        auto const words = after(bytes);
        CHECK_FALSE(words.over());
        CHECK(words.fault().empty());
    }
}

TEST_CASE("first_words: a message ends the watch, whatever came before") {
    for (auto const& before :
         {std::string(), "Ok to proceed? (y) " + an_answer + "\n", a_pretty_one + "\n", std::string("banner\n")}) {
        auto const words = after(before + an_answer + "\n" + "Ok " + an_answer + "\n" + a_pretty_one);
        CHECK(words.over());
        CHECK(words.fault().empty());
        CHECK(words.quote().empty());
    }
}

TEST_CASE("first_words: the quote is one line of a bounded length") {
    CHECK(after("\n \r\n").quote().empty());
    CHECK(after("Starting...\n\x1b[1mProceed? ").quote() ==
          "on standard output, where only messages belong: \"Starting...\\n\\u001b[1mProceed? \"\n");
    auto const long_one = after("first" + std::string(100'000, 'x') + "\xff\nlast").quote();
    CHECK(long_one.size() < 800);
    CHECK(contains(long_one, "…"));
    CHECK(contains(long_one, "\\nlast\""));
}

TEST_CASE("first_words: memory and time are bounded") {
    first_words words;
    for (int line = 0; line < 2000; ++line) words.on_line(std::string(1000, '{') + "jsonrpc");
    words.on_rest(std::string(4 << 20, 'x'));
    words.on_rest("x");
    CHECK(words.fault().empty());
    CHECK(words.quote().size() < 1000);
}
