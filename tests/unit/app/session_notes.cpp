#include <ipybox/app/kept_cells.hpp>
#include <ipybox/app/session_notes.hpp>

#include <support/catch.hpp>
#include <support/contains.hpp>

#include <cstddef>
#include <string>

using ipybox::session_notes;
using ipybox::test::contains;

TEST_CASE("session_notes: each is told once, cancelled cells last") {
    session_notes notes;
    CHECK(notes.take("").empty());
    notes.add_cancelled("1");
    notes.add("the tools of b are missing");
    auto const told = notes.take("a");
    REQUIRE(told.size() == 2);
    CHECK(told[0] == "the tools of b are missing");
    CHECK(told[1] ==
          "cell \"1\" was cancelled by the client; cell_output(id=\"1\", session=\"a\") has what it printed");
    CHECK(notes.take("a").empty());
}

TEST_CASE("session_notes: cancelled cells are told in one sentence, the latest that are kept") {
    session_notes notes;
    for (std::size_t i = 0; i <= ipybox::kept_cells::most_ended; ++i) notes.add_cancelled(std::to_string(i));
    auto const told = notes.take("");
    REQUIRE(told.size() == 1);
    CHECK(contains(told[0], "cells \"1\", \"2\""));
    CHECK_FALSE(contains(told[0], "\"0\""));
    CHECK(contains(told[0], "\"16\" were cancelled by the client"));
}
