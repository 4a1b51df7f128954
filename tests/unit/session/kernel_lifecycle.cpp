#include <ipybox/session/kernel_lifecycle.hpp>

#include <support/catch.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using ipybox::errc;
using ipybox::error;
using ipybox::detail::kernel_state;
using life = ipybox::detail::kernel_lifecycle;
namespace phase = ipybox::detail::kernel_phase;

using event = std::function<void(life&)>;

error const some_death(errc::kernel_died, "signal 9");

/// A phase in words.
struct in_words {
    std::string operator()(phase::stopped const& s) const { return s.on_request ? "stopped on request" : "stopped"; }
    std::string operator()(phase::starting const& s) const {
        return std::string(s.replaces ? "starting again" : "starting") + (s.abandoned ? ", abandoned" : "");
    }
    std::string operator()(phase::idle) const { return "idle"; }
    std::string operator()(phase::busy) const { return "busy"; }
    std::string operator()(phase::interrupting) const { return "interrupting"; }
    std::string operator()(phase::dead const&) const { return "dead"; }
    std::string operator()(phase::closed) const { return "closed"; }
};

std::string words_of(life const& l) { return std::visit(in_words(), l.now()); }

std::map<std::string, event> const events{
    {"allow_start", [](life& l) { l.allow_start(); }},
    {"start", [](life& l) { l.start(); }},
    {"abandon_start", [](life& l) { (void)l.abandon_start(); }},
    {"started", [](life& l) { (void)l.started(); }},
    {"start_failed", [](life& l) { l.start_failed(error(errc::python_not_found, "no Python")); }},
    {"execute", [](life& l) { l.execute(); }},
    {"interrupt", [](life& l) { l.interrupt(); }},
    {"finish", [](life& l) { l.finish(); }},
    {"died", [](life& l) { (void)l.died(l.current(), some_death); }},
    {"died late", [](life& l) { (void)l.died(l.current() - 1, some_death); }},
    {"stop", [](life& l) { l.stop(); }},
    {"stop_on_request", [](life& l) { l.stop_on_request(); }},
    {"close", [](life& l) { l.close(); }},
};

/// How each phase is reached from the beginning.
std::map<std::string, std::vector<std::string>> const ways{
    {"stopped", {}},
    {"stopped on request", {"stop_on_request"}},
    {"starting", {"start"}},
    {"starting, abandoned", {"start", "abandon_start"}},
    {"starting again", {"start", "started", "died", "start"}},
    {"starting again, abandoned", {"start", "started", "died", "start", "abandon_start"}},
    {"idle", {"start", "started"}},
    {"busy", {"start", "started", "execute"}},
    {"interrupting", {"start", "started", "execute", "interrupt"}},
    {"dead", {"start", "started", "died"}},
    {"closed", {"close"}},
};

/// What is next, for each event that changes something. With a star: what was said of the kernel before does not count
/// any more.
using row = std::map<std::string, std::string>;
std::map<std::string, row> const table{
    {"stopped", {{"start", "starting*"}, {"stop_on_request", "stopped on request*"}, {"close", "closed*"}}},
    {"stopped on request",
     {{"allow_start", "stopped"},
      {"start", "starting*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"starting",
     {{"abandon_start", "starting, abandoned"},
      {"started", "idle"},
      {"start_failed", "stopped*"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"starting, abandoned",
     {{"start_failed", "stopped*"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"starting again",
     {{"abandon_start", "starting again, abandoned"},
      {"started", "idle"},
      {"start_failed", "dead*"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"starting again, abandoned",
     {{"start_failed", "dead*"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"idle",
     {{"start", "starting again*"},
      {"execute", "busy"},
      {"died", "dead"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"busy",
     {{"start", "starting again*"},
      {"interrupt", "interrupting"},
      {"finish", "idle"},
      {"died", "dead"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"interrupting",
     {{"start", "starting again*"},
      {"finish", "idle"},
      {"died", "dead"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"dead",
     {{"start", "starting again*"},
      {"stop", "stopped*"},
      {"stop_on_request", "stopped on request*"},
      {"close", "closed*"}}},
    {"closed", {}},
};

/// Brings a life into a phase.
void lead(life& l, std::string const& to) {
    for (auto const& step : ways.at(to)) events.at(step)(l);
    REQUIRE(words_of(l) == to);
}

} // namespace

TEST_CASE("kernel_lifecycle: every event in every phase") {
    REQUIRE(table.size() == ways.size());
    for (auto const& [from, row] : table) {
        for (auto const& [name, happen] : events) {
            INFO(from << ", " << name);
            life l;
            lead(l, from);
            auto const before = l.current();
            happen(l);
            auto const changed = row.find(name);
            auto const expected = changed == row.end() ? from : changed->second;
            CHECK(words_of(l) + (l.current() == before ? "" : "*") == expected);
        }
    }
}

TEST_CASE("kernel_lifecycle: four states are shown to others") {
    std::map<std::string, kernel_state> const shown{
        {"idle", kernel_state::idle},
        {"busy", kernel_state::busy},
        {"interrupting", kernel_state::busy},
        {"dead", kernel_state::dead},
    };
    for (auto const& [name, way] : ways) {
        INFO(name);
        life l;
        lead(l, name);
        auto const found = shown.find(name);
        CHECK(l.seen_from_outside() == (found == shown.end() ? kernel_state::stopped : found->second));
    }
}

TEST_CASE("kernel_lifecycle: the end of a former kernel is not the present one's") {
    life l;
    l.start();
    REQUIRE(l.started());
    auto const former = l.current();
    l.start();
    REQUIRE(l.started());
    CHECK_FALSE(l.died(former, some_death));
    CHECK(l.is_idle());
    CHECK(l.died(l.current(), some_death));
    REQUIRE(l.death());
    CHECK(l.death()->text() == "signal 9");
    CHECK_FALSE(l.died(l.current(), error(errc::protocol_error, "later"))); // the first reason counts
    CHECK(l.death()->text() == "signal 9");
}

TEST_CASE("kernel_lifecycle: an abandoned start has no kernel, and is abandoned once") {
    life l;
    CHECK_FALSE(l.abandon_start());
    l.start();
    CHECK(l.abandon_start());
    CHECK(l.start_is_abandoned());
    CHECK_FALSE(l.abandon_start());
    CHECK_FALSE(l.started());
    l.start_failed(error(errc::not_running, ""));
    CHECK_FALSE(l.start_is_abandoned());
    l.start();
    CHECK(l.started());
}

TEST_CASE("kernel_lifecycle: a kernel that cannot be replaced leaves the reason behind") {
    life l;
    l.start();
    REQUIRE(l.started());
    l.execute();
    l.start();
    CHECK(l.replaces_another());
    l.start_failed(error(errc::python_not_found, "no Python"));
    REQUIRE(l.death());
    CHECK(l.death()->text() == "no Python");
}
