#include <ipybox/app/ended_sessions.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace {

using namespace ipybox;
using namespace std::chrono_literals;

TEST_CASE("ended_sessions: the model is told once") {
    ended_sessions ended;
    ended.add_idle("a", 90s);
    ended.add_idle("b", 1500ms);
    ended.add_lost("c");
    CHECK(ended.find("a") == "the session \"a\" was idle for 90 s and has been ended: its variables are gone");
    CHECK(ended.take("b") == "the session \"b\" was idle for 1.5 s and has been ended: its variables are gone");
    CHECK(ended.take("c") == "the session \"c\" has ended with the sandbox of all sessions: its variables are gone");
    CHECK_FALSE(ended.take("b"));
    CHECK(ended.find("a"));
    CHECK_FALSE(ended.find("d"));
}

TEST_CASE("ended_sessions: the latest end of a session counts") {
    ended_sessions ended;
    ended.add_idle("a", 90s);
    ended.add_lost("a");
    CHECK(ended.size() == 1);
    CHECK(ended.take("a")->find("sandbox") != std::string::npos);
}

TEST_CASE("ended_sessions: 100 are remembered, and one more") {
    ended_sessions ended;
    for (std::size_t i = 0; i < 100; ++i) ended.add_idle("s" + std::to_string(i), 1s);
    CHECK(ended.size() == 100);
    CHECK(ended.find("s0"));
    ended.add_idle("one more", 1s);
    CHECK(ended.size() == 100);
    CHECK_FALSE(ended.find("s0"));
    CHECK(ended.find("s1"));
    CHECK(ended.find("one more"));
}

} // namespace
