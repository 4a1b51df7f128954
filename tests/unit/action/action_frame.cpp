#include <ipybox/action/action_frame.hpp>

#include <support/catch.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace ipybox;
using namespace ipybox::detail;

namespace {

/// Feeds bytes in steps of a size and collects what comes out.
std::vector<action_frame> read(std::string_view bytes, std::size_t step) {
    action_frame_reader reader;
    std::vector<action_frame> frames;
    while (!bytes.empty()) {
        auto const room = reader.prepare();
        auto const count = std::min({step, room.size(), bytes.size()});
        std::memcpy(room.data(), bytes.data(), count);
        reader.commit(count);
        bytes.remove_prefix(count);
        for (;;) {
            auto next = reader.next();
            REQUIRE(next);
            if (!*next) break;
            frames.push_back(std::move(**next));
        }
    }
    return frames;
}

std::string to_bytes(action_frame const& frame) { return bytes_before_body(frame) + frame.body; }

std::string u32(std::size_t value) {
    std::string bytes;
    append_u32(bytes, value);
    return bytes;
}

error refused(std::string_view bytes) {
    action_frame_reader reader;
    auto const room = reader.prepare();
    std::memcpy(room.data(), bytes.data(), bytes.size());
    reader.commit(bytes.size());
    auto const next = reader.next();
    REQUIRE_FALSE(next);
    return next.error();
}

} // namespace

TEST_CASE("action frames: there and back, however they are cut") {
    std::string const large(1 << 20, 'x');
    auto const bytes = to_bytes({R"({"op":"a"})", "body"}) + to_bytes({"{}", ""}) + to_bytes({"{}", large});
    for (std::size_t const step : {std::size_t(1), std::size_t(7), std::size_t(4096), bytes.size()}) {
        if (step == 1 && bytes.size() > 1 << 16) continue;
        auto const frames = read(bytes, step);
        REQUIRE(frames.size() == 3);
        CHECK(frames[0].head == R"({"op":"a"})");
        CHECK(frames[0].body == "body");
        CHECK(frames[1].body.empty());
        CHECK(frames[2].body == large);
    }
    CHECK(read(bytes.substr(0, 60), 1).size() == 2);
}

TEST_CASE("W6 action frames: what has room for no head is skipped, and the next frame found") {
    auto const good = to_bytes({"{}", "body"});
    auto const wrong = {u32(0), u32(3) + "abc", u32(4) + u32(1), u32(8) + u32(5) + "abcd",
                        u32(8) + u32(0xffffffff) + "abcd"};
    for (auto const& bytes : wrong)
        for (std::size_t const step : {1, 5, 4096}) {
            auto const frames = read(bytes + good, step);
            REQUIRE(frames.size() == 2);
            CHECK(frames[0].head.empty());
            CHECK(frames[0].body.empty());
            CHECK(frames[1].head == "{}");
            CHECK(frames[1].body == "body");
        }
}

TEST_CASE("action frames: one that is read in parts") {
    auto const body = std::string(300'000, 'b') + "end";
    auto const head = "{\"a\":\"" + std::string(300'000, 'h') + "\"}";
    auto const bytes = to_bytes({head, body}) + to_bytes({head, ""}) + to_bytes({"", body}) + to_bytes({"{}", "next"});
    for (std::size_t const step : {1000, 4096, 262'144, 10'000'000}) {
        auto const frames = read(bytes, step);
        REQUIRE(frames.size() == 4);
        CHECK((frames[0].head == head && frames[0].body == body));
        CHECK((frames[1].head == head && frames[1].body.empty()));
        CHECK((frames[2].head.empty() && frames[2].body == body));
        CHECK(frames[3].body == "next");
    }
}

TEST_CASE("action frames: one that is read in parts and has room for no head is skipped") {
    auto const wrong = u32(400'000) + u32(400'000 - 3) + std::string(400'000 - 4, 'x');
    for (std::size_t const step : {1000, 10'000'000}) {
        auto const frames = read(wrong + to_bytes({"{}", "next"}), step);
        REQUIRE(frames.size() == 2);
        CHECK(frames[0].head.empty());
        CHECK(frames[1].body == "next");
    }
}

TEST_CASE("action frames: longer than any frame") {
    CHECK(refused(u32(std::size_t(largest_action_request) + 1) + u32(0)) == errc::message_too_large);
    CHECK(refused(u32(0xffffffff) + u32(0xffffffff)) == errc::message_too_large);
}
