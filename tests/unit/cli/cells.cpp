#include <support/catch.hpp>

#include <cli/cells.hpp>

#include <string>
#include <vector>

using ipybox::cli::cut_into_cells;

namespace {

std::vector<std::string> codes(std::string_view text) {
    std::vector<std::string> codes;
    for (auto const& cell : cut_into_cells(text)) codes.push_back(cell.code);
    return codes;
}

std::vector<std::string> titles(std::string_view text) {
    std::vector<std::string> titles;
    for (auto const& cell : cut_into_cells(text)) titles.push_back(cell.title);
    return titles;
}

using texts = std::vector<std::string>;

} // namespace

TEST_CASE("Text without a marker is one cell") {
    CHECK(codes("a = 1\nprint(a)") == texts{"a = 1\nprint(a)"});
    CHECK(codes("# a comment alone\n") == texts{"# a comment alone\n"});
}

TEST_CASE("Lines that begin with the marker begin cells") {
    CHECK(codes("a\n# %%\nb\n# %% c\nc\n") == texts{"a\n", "b\n", "c\n"});
    CHECK(codes("#%%\na\n#%% title\nb") == texts{"a\n", "b"});
    CHECK(codes("a  # %% no\n  # %% no\n") == texts{"a  # %% no\n  # %% no\n"});
}

TEST_CASE("The rest of the marker's line is the title") {
    CHECK(titles("# %%   Load the data \r\na\n# %%\nb\n# %%Plot\nc") == texts{"Load the data", "", "Plot"});
}

TEST_CASE("Blank cells are left out") {
    CHECK(codes("").empty());
    CHECK(codes(" \n\t\n").empty());
    CHECK(codes("# %%\n\n# %% empty\n# %%\na") == texts{"a"});
}

TEST_CASE("Cells for the reader are left out") {
    CHECK(titles("# %% [markdown]\n# Text\n# %% run\na\n# %% [md]\nx\n# %% Intro [markdown]\nx\n# %% [raw]\nx") ==
          texts{"run"});
}

TEST_CASE("A head of comments is not a cell") {
    CHECK(codes("#!/usr/bin/env python\n\n# Copyright\n# %%\na") == texts{"a"});
    CHECK(codes("# Copyright\nimport os\n# %%\na") == texts{"# Copyright\nimport os\n", "a"});
    CHECK(codes("a\n# %%\n# only a comment") == texts{"a\n", "# only a comment"});
}
