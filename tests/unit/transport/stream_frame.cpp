#include <ipybox/jupyter/json_frames.hpp>
#include <ipybox/transport/stream_frame.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>
#include <support/stream_bytes.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace ipybox;
using namespace ipybox::jupyter;
using namespace ipybox::test;

namespace {

message output(std::string text, std::vector<std::string> buffers = {}) {
    message m(message::channel::iopub, "stream", {{"name", "stdout"}, {"text", std::move(text)}});
    m.id = "1";
    m.parent_header = {{"msg_id", "p"}};
    m.buffers = std::move(buffers);
    return m;
}

std::string bytes_of(message m) { return to_stream_frame(m); }

/// Frame by hand: whatever the sizes say.
std::string frame(unsigned char on, std::vector<std::uint32_t> const& sizes, std::string_view body) {
    std::string rest{static_cast<char>(on), static_cast<char>(sizes.size())};
    for (auto const size : sizes) rest += u32(size);
    rest += body;
    return u32(static_cast<std::uint32_t>(rest.size())) + rest;
}

constexpr std::string_view header = R"({"msg_type":"status"})";
constexpr auto header_size = static_cast<std::uint32_t>(header.size());
std::string const body = std::string(header) + "{}{}{}";

error refused(std::string_view bytes) {
    auto const all = read_stream(bytes);
    REQUIRE(all.failed);
    CHECK(all.messages.empty());
    return *all.failed;
}

} // namespace

TEST_CASE("stream_frame: there and back") {
    for (auto const on :
         {message::channel::shell, message::channel::iopub, message::channel::stdin_, message::channel::control}) {
        auto m = output("täxt\n", {std::string("\0\xff", 2), "", "third"});
        m.on = on;
        m.session = "s";
        m.metadata = {{"a", 1}};
        auto const bytes = to_stream_frame(m);
        auto const all = read_stream(bytes);
        CHECK_FALSE(all.failed);
        REQUIRE(all.messages.size() == 1);
        auto const& back = all.messages[0];
        CHECK(back.on == on);
        CHECK(back.type == "stream");
        CHECK(back.id == "1");
        CHECK(back.session == "s");
        CHECK(back.parent_id == "p");
        CHECK(back.content == m.content);
        CHECK(back.metadata == m.metadata);
        CHECK(back.buffers == m.buffers);
        CHECK(back.size == bytes.size() - 4);
    }
}

TEST_CASE("stream_frame: messages are numbered as they were sent, behind the first") {
    auto const all =
        read_stream(bytes_of(output("a")) + bytes_of(output(std::string(300'000, 'b'))) + bytes_of(output("c")));
    REQUIRE(all.messages.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(all.messages[i].number == i);
}

TEST_CASE("stream_frame: the bytes are those of the protocol") {
    message m(message::channel::stdin_, "t", json::object());
    m.id = "1";
    m.buffers = {"ab"};
    auto const bytes = to_stream_frame(m);
    CHECK(bytes.substr(0, 4) == u32(static_cast<std::uint32_t>(bytes.size() - 4)));
    CHECK(bytes[4] == 2);
    CHECK(bytes[5] == 5);
    CHECK(bytes.substr(6 + 4 * 4, 4) == u32(2));
    CHECK(bytes.substr(bytes.size() - 8) == "{}{}{}ab");

    auto const made = bytes_of(message(message::channel::shell, "t", json::object()));
    CHECK(contains(made, "msg_id"));
}

TEST_CASE("stream_frame: split at every byte") {
    auto const bytes = bytes_of(output("first", {"x"})) + bytes_of(output("second"));
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        stream_reading reading;
        reading.feed(std::string_view(bytes).substr(0, cut));
        reading.feed(std::string_view(bytes).substr(cut));
        REQUIRE_FALSE(reading.failed);
        REQUIRE(reading.messages.size() == 2);
        REQUIRE(field(reading.messages[1].content, "text") == "second");
    }
    stream_reading single;
    for (char const byte : bytes) single.feed({&byte, 1});
    REQUIRE(single.messages.size() == 2);
    CHECK(single.messages[0].buffers.at(0) == "x");
}

TEST_CASE("stream_frame: many in one read, with the beginning of another one") {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += bytes_of(output(std::to_string(i)));
    auto const last = bytes_of(output("last"));
    stream_reading reading;
    reading.feed(bytes + last.substr(0, 7));
    REQUIRE(reading.messages.size() == 1000);
    CHECK(field(reading.messages[999].content, "text") == "999");
    reading.feed(std::string_view(last).substr(7));
    REQUIRE(reading.messages.size() == 1001);
    CHECK(field(reading.messages[1000].content, "text") == "last");
}

TEST_CASE("stream_frame: nothing, and less than a message") {
    stream_frame_reader reader;
    auto const nothing = reader.next();
    REQUIRE(nothing);
    CHECK_FALSE(*nothing);
    auto const bytes = bytes_of(output("x"));
    for (std::size_t size : {std::size_t(1), std::size_t(3), std::size_t(4), std::size_t(5), bytes.size() - 1}) {
        auto const all = read_stream(std::string_view(bytes).substr(0, size));
        CHECK_FALSE(all.failed);
        CHECK(all.messages.empty());
    }
}

TEST_CASE("stream_frame: a length beyond the bound") {
    for (auto const length : {largest_stream_message + 1, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        auto const e = refused(u32(length));
        CHECK(e == errc::message_too_large);
        CHECK(contains(e.text(), std::to_string(length) + " bytes"));
    }
}

TEST_CASE("stream_frame: a message at the bound is read to its end, in steps") {
    for (std::uint32_t const less : {0U, 3U, 4U}) {
        stream_frame_reader reader;
        auto const length = largest_stream_message - less;
        auto const buffer = length - 2 - 4 * 5 - header_size - 6;
        std::string const begin =
            u32(length) + std::string("\x01\x05") + u32(header_size) + u32(2) + u32(2) + u32(2) + u32(buffer) + body;
        auto room = reader.prepare();
        std::memcpy(room.data(), begin.data(), begin.size());
        reader.commit(begin.size());
        for (auto left = std::size_t(buffer); left > 0;) {
            auto const before = reader.next();
            REQUIRE(before);
            REQUIRE_FALSE(*before);
            room = reader.prepare();
            REQUIRE_FALSE(room.empty());
            REQUIRE(room.size() <= stream_frame_reader::read_size);
            auto const count = std::min(room.size(), left <= 8 ? std::size_t(1) : left - 8);
            std::memset(room.data(), 'x', count);
            reader.commit(count);
            left -= count;
        }
        auto const m = reader.next();
        REQUIRE(m);
        REQUIRE(*m);
        CHECK((*m)->type == "status");
        CHECK((*m)->size == length);
        auto const same = (*m)->buffers.at(0) == std::string(buffer, 'x');
        CHECK(same);
        auto const rest = reader.next();
        REQUIRE(rest);
        CHECK_FALSE(*rest);
    }
}

TEST_CASE("stream_frame: a large message between small ones, split anywhere") {
    auto large = output("", {std::string(stream_frame_reader::read_size, 'a'), "", std::string(300'000, 'b'), "c"});
    auto const bytes = bytes_of(output("first")) + bytes_of(std::move(large)) + bytes_of(output("last"));
    for (std::size_t const piece : {std::size_t(1000), std::size_t(65'537), stream_frame_reader::read_size}) {
        auto const all = read_stream(bytes, piece);
        REQUIRE_FALSE(all.failed);
        REQUIRE(all.messages.size() == 3);
        REQUIRE(all.messages[1].buffers.size() == 4);
        CHECK((all.messages[1].buffers[2] == std::string(300'000, 'b')));
        CHECK(all.messages[1].buffers[3] == "c");
        CHECK(field(all.messages[2].content, "text") == "last");
    }
}

TEST_CASE("stream_frame: JSON beyond its bounds is refused before it is read") {
    jupyter::message_bounds const bounds;
    auto const begun = [](std::vector<std::uint32_t> const& sizes) {
        std::uint32_t length = 2 + 4 * 4;
        for (auto const size : sizes) length += size;
        std::string bytes = u32(length) + std::string("\x01\x04");
        for (auto const size : sizes) bytes += u32(size);
        return read_stream(bytes);
    };
    auto const header_bound = static_cast<std::uint32_t>(bounds.header.bytes);
    auto const metadata_bound = static_cast<std::uint32_t>(bounds.metadata.bytes);
    auto const content_bound = static_cast<std::uint32_t>(bounds.displayed.bytes);
    std::vector<std::uint32_t> const at_the_bound{header_bound, header_bound, metadata_bound, content_bound};
    CHECK_FALSE(begun(at_the_bound).failed);
    for (std::size_t i = 0; i < at_the_bound.size(); ++i) {
        auto beyond = at_the_bound;
        ++beyond[i];
        auto const read = begun(beyond);
        REQUIRE(read.failed);
        CHECK(*read.failed == errc::message_too_large);
        CHECK(contains(read.failed->text(), "bytes of JSON, more than"));
    }
}

TEST_CASE("stream_frame: wrong counts and sizes") {
    auto const wrong = [](std::string_view bytes) {
        auto const e = refused(bytes);
        CHECK(e == errc::protocol_error);
        CHECK(contains(e.text(), "wrong frame sizes"));
    };
    REQUIRE(read_stream(frame(1, {header_size, 2, 2, 2}, body)).messages.size() == 1); // the frame is right
    wrong(u32(0));
    wrong(u32(1) + "\x01");
    wrong(frame(4, {header_size, 2, 2, 2}, body));
    wrong(frame(255, {header_size, 2, 2, 2}, body));
    wrong(frame(1, {}, ""));
    wrong(frame(1, {header_size, 2, 2}, body));
    wrong(frame(1, {header_size, 2, 2, 3}, body));
    wrong(frame(1, {header_size, 2, 2, 1}, body));
    wrong(frame(1, {header_size, 2, 2, 2, 1}, body));
    wrong(frame(1, {0xffffffffU, 2, 2, 2}, body));
    wrong(frame(1, {header_size, 0xffffffffU, 0xffffffffU, 5}, body));
    wrong(u32(6) + std::string("\x01\xff", 2) + u32(1)); // 255 sizes in four bytes
}

TEST_CASE("stream_frame: JSON that is none, of each frame") {
    char const* const names[] = {"header", "parent_header", "metadata", "content"};
    for (std::size_t i = 0; i < 4; ++i) {
        std::string parts[] = {std::string(header), "{}", "{}", "{}"};
        parts[i] = "[]";
        std::vector<std::uint32_t> sizes;
        std::string all;
        for (auto const& part : parts) {
            sizes.push_back(static_cast<std::uint32_t>(part.size()));
            all += part;
        }
        auto const e = refused(frame(0, sizes, all));
        CHECK(e == errc::protocol_error);
        CHECK(contains(e.text(), std::string("the ") + names[i] + " of"));
    }
    CHECK(refused(frame(0, {0, 0, 0, 0}, "")) == errc::protocol_error);
}

TEST_CASE("stream_frame: up to 251 buffers") {
    auto const all = read_stream(bytes_of(output("x", std::vector<std::string>(251, "b"))));
    REQUIRE(all.messages.size() == 1);
    CHECK(all.messages[0].buffers.size() == 251);
}

TEST_CASE("stream_frame: a message of 20 MB, and small ones around it") {
    std::string large(20'000'000, 'x');
    large.back() = 'y';
    auto const bytes = bytes_of(output("before")) + bytes_of(output("", {large})) + bytes_of(output("after"));
    auto const all = read_stream(bytes);
    REQUIRE(all.messages.size() == 3);
    CHECK((all.messages[1].buffers.at(0) == large));
    CHECK(all.most_room <= 20'000'000 + 3 * stream_frame_reader::read_size);
    CHECK(field(all.messages[2].content, "text") == "after");
}

TEST_CASE("stream_frame: a large message may be read elsewhere") {
    std::string const long_text(2'000'000, 'x');
    auto const bytes = bytes_of(output("small")) + bytes_of(output(long_text)) + bytes_of(output("", {long_text}));
    stream_frame_reader reader;
    std::vector<stream_frame_reader::item> items;
    for (std::string_view left = bytes; !left.empty();) {
        auto const room = reader.prepare();
        auto const count = std::min(room.size(), left.size());
        std::memcpy(room.data(), left.data(), count);
        reader.commit(count);
        left.remove_prefix(count);
        for (auto next = reader.next_item(); *next; next = reader.next_item()) items.push_back(std::move(**next));
    }
    REQUIRE(items.size() == 3);
    CHECK(std::get<jupyter::message>(items[0]).number == 0);
    auto text = std::get<unread_message>(std::move(items[1]));
    CHECK(text.json_size() > long_text.size());
    auto m = read_message(std::move(text));
    REQUIRE(m);
    CHECK(m->number == 1);
    CHECK((jupyter::take_text(*m, "text") == long_text));
    auto buffer = std::get<unread_message>(std::move(items[2]));
    CHECK(buffer.json_size() < 1000);
    m = read_message(std::move(buffer));
    REQUIRE(m);
    CHECK(m->number == 2);
    CHECK((m->buffers.at(0) == long_text));
}

TEST_CASE("stream_frame: a large message needs the room of one read beside itself, however it comes") {
    auto const bytes = bytes_of(output("", {std::string(4'000'000, 'x')}));
    stream_reading reading;
    reading.feed(std::string_view(bytes).substr(0, 100));
    for (std::size_t at = 100; at < bytes.size(); at += 500) {
        REQUIRE(reading.reader.prepare().size() == stream_frame_reader::read_size);
        reading.feed(std::string_view(bytes).substr(at, 500));
    }
    CHECK(reading.messages.size() == 1);
}

TEST_CASE("stream_frame: what a large message took is given back") {
    stream_reading reading;
    reading.feed(bytes_of(output("small")));
    reading.feed(bytes_of(output("", {std::string(20'000'000, 'x')})));
    REQUIRE(reading.messages.size() == 2);
    // A fresh buffer of the usual size: one read fills it.
    auto const room = reading.reader.prepare();
    CHECK(room.size() == stream_frame_reader::read_size);
    reading.reader.commit(0);
    CHECK(reading.reader.prepare().data() == room.data());
}
