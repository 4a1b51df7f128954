#include <ipybox/http/event_reader.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using ipybox::errc;
using ipybox::http::event_reader;
using events = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t longest = 1000;

/// The events of a stream that comes in pieces of a size.
events read_in(event_reader& reader, std::string_view stream, std::size_t size) {
    events found;
    while (!stream.empty()) {
        auto const read = reader.read(stream.substr(0, size));
        REQUIRE(read);
        for (auto const& each : *read) found.emplace_back(each.type, each.data);
        stream.remove_prefix(std::min(size, stream.size()));
    }
    return found;
}

events events_of(std::string_view stream, std::size_t size = std::string_view::npos) {
    event_reader reader(longest);
    return read_in(reader, stream, size);
}

} // namespace

TEST_CASE("event_reader: events, in whatever pieces they come") {
    auto const* const stream = "\xEF\xBB\xBF: a comment\r\n"
                               "data: one\r\n\r\n"
                               "event: endpoint\rdata:/messages\r\r"
                               "data: a\ndata:  b\ndata\n\n"
                               "unknown: x\ndata:last\n\n"
                               "data: is not whole";
    events const expected = {
        {"message", "one"}, {"endpoint", "/messages"}, {"message", "a\n b\n"}, {"message", "last"}};
    for (auto const size : {std::size_t(1), std::size_t(2), std::size_t(3), std::size_t(7), longest})
        CHECK(events_of(stream, size) == expected);
}

TEST_CASE("event_reader: an event without data is none, and its id counts") {
    event_reader reader(longest);
    CHECK(read_in(reader, "id: 7\n\n", 1).empty());
    CHECK(reader.last_id() == "7");
    CHECK(read_in(reader, "id: 8\ndata:\n\n", 3) == events{{"message", ""}});
    CHECK(reader.last_id() == "8");
    CHECK(read_in(reader, "data: x\n\n", 3) == events{{"message", "x"}}); // the id stays
    CHECK(reader.last_id() == "8");
    CHECK(read_in(reader, "id: 9\ndata: not whole\n", 3).empty());
    CHECK(reader.last_id() == "8");
    CHECK(read_in(reader, std::string_view("\nid: a\0b\ndata: y\n\n", 18), 3).size() == 2);
    CHECK(reader.last_id() == "9");
    CHECK(read_in(reader, "id\ndata: z\n\n", 3).size() == 1);
    CHECK(reader.last_id().empty());
}

TEST_CASE("event_reader: how long to wait before the stream is asked for again") {
    event_reader reader(longest);
    CHECK_FALSE(reader.retry());
    (void)read_in(reader, "retry: soon\nretry: -1\nretry: 99999999999\nretry:\n\n", 5);
    CHECK_FALSE(reader.retry());
    (void)read_in(reader, "retry: 1500\n\n", 5);
    CHECK(reader.retry() == std::chrono::milliseconds(1500));
}

TEST_CASE("event_reader: an event that is too long") {
    std::string const most(longest - 20, 'x');
    CHECK(events_of("data:" + most + "\n\n").size() == 1);
    event_reader in_lines(longest);
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += "data:0123456789\n";
    auto const refused = in_lines.read(lines);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::message_too_large);
    event_reader in_one_line(longest);
    REQUIRE(in_one_line.read(std::string(longest, 'x')));
    CHECK_FALSE(in_one_line.read("x"));
}

TEST_CASE("event_reader: an id that no header field could carry is passed over") {
    event_reader reader(100'000);
    CHECK(read_in(reader, "id: short\ndata: 1\n\n", 7).size() == 1);
    CHECK(read_in(reader, "id: " + std::string(50'000, 'x') + "\ndata: 2\n\n", 1000).size() == 1);
    CHECK(reader.last_id() == "short");
}
