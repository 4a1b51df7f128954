#include <ipybox/mcp/line_reader.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace ipybox;
using mcp::line_reader;

struct reading {
    std::vector<std::string> lines;
    std::optional<error> failed;
};

reading read(std::string_view bytes, std::size_t piece, std::size_t longest = 1 << 20) {
    reading r;
    line_reader reader(longest);
    while (!bytes.empty() && !r.failed) {
        auto const room = reader.prepare();
        REQUIRE(room.size() >= 1);
        auto const count = std::min({piece, room.size(), bytes.size()});
        std::memcpy(room.data(), bytes.data(), count);
        reader.commit(count);
        bytes.remove_prefix(count);
        for (;;) {
            auto const line = reader.next();
            if (!line) {
                r.failed = line.error();
                break;
            }
            if (!*line) break;
            r.lines.emplace_back(**line);
        }
    }
    return r;
}

} // namespace

TEST_CASE("line_reader: the same lines however the bytes are cut") {
    std::string const bytes = "first\n\nthird\r\n  \nlong " + std::string(100, 'x') + "\nunfinished";
    std::vector<std::string> const expected{"first", "", "third", "  ", "long " + std::string(100, 'x')};
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        auto const r = read(bytes, piece);
        CHECK(r.lines == expected);
        CHECK_FALSE(r.failed);
    }
}

TEST_CASE("line_reader: a byte order mark before a line is no part of it") {
    for (std::size_t piece : {1, 2, 3, 100}) {
        auto const r = read("\xEF\xBB\xBF{}\nx\xEF\xBB\xBF\n\xEF\xBB\n", piece);
        CHECK(r.lines == std::vector<std::string>{"{}", "x\xEF\xBB\xBF", "\xEF\xBB"});
    }
}

TEST_CASE("line_reader: lines larger than a read, one behind the other") {
    std::string bytes;
    std::vector<std::size_t> sizes;
    for (std::size_t size : {0UL, 1UL, line_reader::read_size - 1, line_reader::read_size, line_reader::read_size + 1,
                             5 * line_reader::read_size, 3UL, 9 * line_reader::read_size, 2UL, 100UL}) {
        bytes.append(size, static_cast<char>('a' + sizes.size())).append("\n");
        sizes.push_back(size);
    }
    for (std::size_t piece : {std::size_t(1000), std::size_t(65536), line_reader::read_size, bytes.size()}) {
        auto const r = read(bytes, piece, bytes.size());
        REQUIRE(r.lines.size() == sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i)
            CHECK(r.lines[i] == std::string(sizes[i], static_cast<char>('a' + i)));
    }
}

TEST_CASE("line_reader: a line that is too long is an error, ended or not") {
    CHECK(read(std::string(100, 'x') + "\n", 1000, 101).lines.size() == 1);
    for (auto const* const end : {"\n", ""}) {
        auto const r = read("fine\n" + std::string(200, 'x') + end, 7, 100);
        CHECK(r.lines == std::vector<std::string>{"fine"});
        REQUIRE(r.failed);
        CHECK(*r.failed == errc::message_too_large);
    }
}

TEST_CASE("line_reader: the next line behind one that is too long") {
    auto const long_line = std::string(3 * line_reader::read_size, 'x');
    auto const bytes = "first\n" + long_line + "\nnext\n" + long_line + "\n" + std::string(99, 'y') + "\nlast\n";
    for (std::size_t piece : {std::size_t(13), std::size_t(1000), bytes.size()}) {

        CAPTURE(piece);
        line_reader reader(100);
        std::vector<std::string> lines;
        int refused = 0;
        std::size_t largest = 0;
        for (std::size_t at = 0; at < bytes.size();) {
            auto const room = reader.prepare();
            largest = std::max(largest, room.size());
            auto const count = std::min({piece, room.size(), bytes.size() - at});
            std::copy_n(bytes.data() + at, count, room.data());
            reader.commit(count);
            at += count;
            for (;;) {
                auto line = reader.next();
                if (!line) {
                    ++refused;
                    (void)reader.skip_line();
                } else if (*line) {
                    lines.emplace_back(**line);
                } else {
                    break;
                }
            }
        }
        CHECK(lines == std::vector<std::string>{"first", "next", std::string(99, 'y'), "last"});
        CHECK(refused == 2);
        CHECK(largest <= line_reader::largest_read);
    }
}
